"""A broker that returns under another address is one broker, in the live view and in the history."""

from pathlib import Path

import httpx

from tests.interop.programs.nameserver_probe import wait_until
from tests.support.live_console import live_console
from tests.support.process import serving
from tests.support.registered_brokers import broker, registered, topic


def test_a_broker_that_returns_under_another_address_is_one_outage(tmp_path: Path) -> None:
    before, after = "127.0.0.6:10911", "127.0.0.66:10911"
    with serving(tmp_path, http="127.0.0.1:0") as process:
        url, nameserver = process.wait_until_http(), "{}:{}".format(*process.address)
        with live_console(url) as console:
            with registered(nameserver, [broker("b-a", topic("t"), topic("u"), addr=before)]):
                console.until(lambda: console.states() == {f"b-a {before}": "up"})
            console.until(lambda: console.states() == {f"b-a {before}": "down"})
            with registered(nameserver, [broker("b-a", topic("t"), topic("u"), addr=after)]):
                console.until(lambda: console.states() == {f"b-a {after}": "up"})
                members = f"{url}/v1/brokers/b-a/sessions"
                wait_until(
                    lambda: [len(one["sessions"]) for one in httpx.get(members).json()["members"]] == [2],
                    "the history has one broker with two sessions",
                )
                (member,) = httpx.get(members).json()["members"]
    first, second = member["sessions"]
    assert (first["addr"], second["addr"], member["addr"]) == (before, after, after)
    assert sum(day["outages"] for day in member["days"]) == 1
    assert sum(day["observed_ms"] - day["up_ms"] for day in member["days"]) == second["from_ms"] - first["to_ms"]
