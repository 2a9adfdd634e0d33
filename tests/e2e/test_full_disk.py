"""A full disk: admin writes without a file of their own are in effect, and say that their record is not on disk."""

from pathlib import Path

from tests.support.process import serving
from tests.support.remoting import Client, register, route
from tests.support.remoting_frames import Request
from tests.support.small_disk import small_disk

LOST = "the change is in effect, but its record is not on disk and may be lost: "


TOPICS = tuple(f"t{number:02}" for number in range(60))


def test_admin_writes_on_a_full_disk_say_so(tmp_path: Path) -> None:
    with (
        small_disk(tmp_path / "disk", mebibytes=4) as disk,
        serving(disk.path / "home") as ns,
        Client(ns.address) as client,
    ):
        assert client.ask(register(topics=TOPICS)).code == 0
        kept = client.ask(Request(code=205, ext={"brokerName": "broker-a"}))
        assert (kept.code, kept.remark) == (0, None)
        disk.fill()
        changes = [Request(code=(327, 205)[number % 2], ext={"brokerName": "broker-a"}) for number in range(100)]
        deletions = [Request(code=216, ext={"topic": topic}) for topic in TOPICS]
        for requests in (changes, deletions):  # the first ones may fit into the last page of the open segment
            replies = (client.ask(request) for request in requests)
            rejected = next(reply for reply in replies if reply.remark is not None)
            assert rejected.code == 0
            assert rejected.remark is not None
            assert rejected.remark.startswith(LOST)
            assert "No space left on device" in rejected.remark
        assert client.ask(route(TOPICS[0])).code == 17
        disk.free()
