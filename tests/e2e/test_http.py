"""The HTTP port of a real process: changes on the NameServer port appear over HTTP."""

import itertools
import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.support.http import ServerSent, StreamParser
from tests.support.process import serving, start
from tests.support.remoting import Client, eventually, put_kv, register, route

FREE = "127.0.0.1:0"


def got(url: str, path: str) -> Any:
    response = httpx.get(url + path, timeout=20)
    assert response.status_code == 200, response.text
    return response.json()


@contextmanager
def watching(url: str, *, last_event_id: str | None = None, query: str = "") -> Iterator[Iterator[ServerSent]]:
    """Yield the events of a stream."""
    headers = {} if last_event_id is None else {"Last-Event-ID": last_event_id}
    with httpx.stream("GET", f"{url}/v1/events{query}", headers=headers, timeout=20) as response:
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        chunks = response.iter_bytes()
        assert next(chunks).startswith(b"retry: ")  # from here on nothing is missed

        def sent() -> Iterator[ServerSent]:
            parser = StreamParser()
            for chunk in chunks:
                yield from parser.feed(chunk)

        yield sent()


def test_both_ports_are_announced(tmp_path: Path) -> None:
    with serving(tmp_path, http=FREE) as ns:
        url = ns.wait_until_http()
        server = got(url, "/v1/server")
        assert server["listen"] == f"127.0.0.1:{ns.port}"
        assert server["settings"]["listenPort"] == ns.port
        assert got(url, "/healthz")["status"] == "alive"
        assert got(url, "/readyz")["ready"]
        assert got(url, "/v1/health")["condition"] == "ok"
        assert ns.stop() == 0


def test_an_idle_server_is_small_with_everything_on(tmp_path: Path) -> None:
    with serving(tmp_path, http=FREE) as ns:
        url = ns.wait_until_http()
        for path in ("/v1/server", "/v1/topics", "/schema/openapi.json"):
            got(url, path)
        assert "routebook_topics" in httpx.get(f"{url}/metrics").text
        assert ns.resident_bytes() < 60 * 1024 * 1024


def test_http_can_be_disabled(tmp_path: Path) -> None:
    with serving(tmp_path, http="off") as ns:
        assert "(http)" not in ns.out
        assert ns.stop() == 0
        assert "(http)" not in ns.out


def test_a_port_in_use_stops_the_start_and_names_the_option(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        process = start(tmp_path, http=f"127.0.0.1:{port}")
        try:
            assert process.wait() == 1
        finally:
            process.kill()
    assert f"cannot listen on 127.0.0.1:{port}: the port is in use by process {os.getpid()} (" in process.log
    assert "--http" in process.log
    assert "Traceback" not in process.log
    assert "listening" not in process.out


def test_changes_appear_in_tables_events_and_metrics(tmp_path: Path) -> None:
    with serving(tmp_path, http=FREE) as ns:
        url = ns.wait_until_http()
        with watching(url) as events, Client(ns.address) as broker, Client(ns.address) as client:
            assert broker.ask(register(topics=["%RETRY%g", "orders"])).code == 0
            up, topics = next(events), next(events)
            assert (up.json["kind"], up.json["broker"]) == ("broker_up", "broker-a")
            assert topics.json["kind"] == "topics_changed"
            assert int(topics.id) == int(up.id) + 1
            assert client.ask(route("orders")).code == 0
            assert client.ask(route("nowhere")).code == 17
            assert got(url, "/v1/routes/%25RETRY%25g")["route"]["queues"][0]["broker"] == "broker-a"
            assert [topic["name"] for topic in got(url, "/v1/topics")["topics"]] == ["%RETRY%g", "orders"]
            assert got(url, "/v1/brokers/broker-a")["group"]["members"][0]["state"] == "registered"
            assert client.ask(put_kv("k", "v")).code == 0
            assert next(events).json["kind"] == "kv_changed"
            assert got(url, "/v1/kv")["namespaces"]["tests"] == {"k": "v"}
            text = httpx.get(f"{url}/metrics").text
            assert 'routebook_requests_total{kind="get_routeinfo_by_topic"} 2.0' in text
            assert 'routebook_responses_total{code="topic_not_exist"} 1.0' in text
            assert 'routebook_request_seconds_count{kind="register_broker"} 1.0' in text
            assert 'routebook_brokers{state="registered"} 1.0' in text
            assert "routebook_watchers 1.0" in text
            assert "routebook_connections 2.0" in text
            broker.close()
            down = next(events)
            assert (down.json["kind"], down.json["reason"]) == ("broker_down", "closed")


def records(events: Iterator[ServerSent]) -> Iterator[ServerSent]:
    """Remove notices about sequence numbers that a killed server never assigned."""
    for sent in events:
        if sent.event == "missing":
            assert sent.json["certain"] is False
        else:
            assert sent.event == "message"
            yield sent


def test_a_watcher_resumes_over_a_restart_without_gap_or_duplicate(tmp_path: Path) -> None:
    seen: list[int] = []
    last = "0"
    for turn in range(4):
        with serving(tmp_path, http=FREE) as ns:
            url = ns.wait_until_http()
            with watching(url, last_event_id=last) as events, Client(ns.address) as client:
                for number in range(20):
                    assert client.ask(put_kv(f"{turn}-{number}", "v")).code == 0
                for sent in records(events):
                    seen.append(int(sent.id))
                    if sent.json.get("key") == f"{turn}-15":  # the rest comes after the restart
                        break
            last = str(seen[-1])
            if turn == 1:
                ns.kill()
            else:
                assert ns.stop() == 0
    with serving(tmp_path, http=FREE) as ns, watching(ns.wait_until_http(), last_event_id="0") as events:
        everything = [int(next(records(events)).id) for _ in seen]
    assert everything == seen


def test_filters(tmp_path: Path) -> None:
    with serving(tmp_path, http=FREE) as ns:
        url = ns.wait_until_http()
        query = "?kind=broker_up&kind=broker_down&broker=b2"
        with watching(url, query=query) as events:
            for name, addr in (("b1", "10.0.0.1:1"), ("b2", "10.0.0.2:1")):
                with Client(ns.address) as broker:
                    assert broker.ask(register(broker=name, addr=addr)).code == 0
            assert [next(events).json["kind"], next(events).json["kind"]] == ["broker_up", "broker_down"]
        with watching(url, query="?topic=TopicMore", last_event_id="0") as events:
            first = next(events).json
            assert (first["kind"], first["broker"]) == ("topics_changed", "b1")


def test_a_draining_server_is_not_ready_and_ends_streams(tmp_path: Path) -> None:
    settings = {"enableShutdownGracefully": True, "shutdownWaitTimeSeconds": 20}
    with serving(tmp_path, http=FREE, settings=settings) as ns:
        url = ns.wait_until_http()
        with watching(url) as events, Client(ns.address) as holds_on:
            assert holds_on.ask(route("nowhere")).code == 17
            ns.send(signal.SIGTERM)
            eventually(lambda: httpx.get(f"{url}/readyz").status_code == 503, "readyz says no")
            assert httpx.get(f"{url}/readyz").json()["waiting_for"] == {"stop": "the server is stopping"}
            assert got(url, "/healthz")["status"] == "alive"
            holds_on.close()
            *_, stopped, stopping = list(events)
            assert (stopped.json["kind"], stopping.event) == ("server_stopped", "stopping")
            assert stopping.id == stopped.id
        assert ns.wait() == 0


def test_a_server_that_waits_for_the_gate_is_not_ready(tmp_path: Path) -> None:
    settings = {"needWaitForService": True, "waitSecondsForService": 600}
    with serving(tmp_path, http=FREE, settings=settings) as ns:
        response = httpx.get(f"{ns.wait_until_http()}/readyz")
        assert response.status_code == 503
        assert "needWaitForService" in response.json()["waiting_for"]["service"]


def test_a_stop_while_http_is_being_imported(tmp_path: Path) -> None:
    process = start(tmp_path, http=FREE)
    try:
        process.wait_until_listening()
        assert process.stop() == 0
    finally:
        process.kill()
    assert "Traceback" not in process.log


def slow_reader(url: str) -> tuple[socket.socket, bytes]:
    """A watcher that reads almost nothing."""
    host, _, port = url.removeprefix("http://").rpartition(":")
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    reader.settimeout(20)
    reader.connect((host, int(port)))
    reader.sendall(b"GET /v1/events HTTP/1.0\r\nHost: localhost\r\n\r\n")  # 1.0: as it is, until the end
    received = b""
    while b"retry" not in received:
        received += reader.recv(4096)
    return reader, received


def test_a_slow_reader_is_dropped_while_others_continue(tmp_path: Path) -> None:
    count = 40
    topics = [f"a-topic-with-quite-a-long-name-{number}" for number in range(5000)]
    with serving(tmp_path, http=FREE) as ns:
        url = ns.wait_until_http()
        slow, received = slow_reader(url)
        with slow, watching(url) as events, Client(ns.address) as client:
            kinds = (str(event.json["kind"]) for event in events)
            news = (kind for kind in kinds if not kind.endswith("_minute"))  # a slow machine may write some
            for number in range(count):  # more than the sockets' buffers and the feed's together
                assert client.ask(register(broker=f"b{number}", addr=f"10.0.0.{number}:1", topics=topics)).code == 0
                assert list(itertools.islice(news, 2)) == ["broker_up", "topics_changed"]
            last = got(url, "/v1/server")["last_seq"]
            assert last >= 1 + 2 * count
            while chunk := slow.recv(1 << 20):
                received += chunk
            *sent, dropped = StreamParser().feed(received.partition(b"\r\n\r\n")[2])
            resume = dropped.json["resume_after"]
            assert (dropped.event, dropped.id) == ("dropped", str(resume))
            assert isinstance(resume, int)
            assert [int(one.id) for one in sent] == list(range(2, resume + 1))
            assert resume < last
            assert "routebook_watchers_dropped_total 1.0" in httpx.get(f"{url}/metrics").text
            with watching(url, last_event_id=str(resume)) as events:
                assert [int(next(events).id) for _ in range(resume, last)] == list(range(resume + 1, last + 1))


def test_a_public_port_logs_a_warning(tmp_path: Path) -> None:
    with serving(tmp_path, http="0.0.0.0:0") as ns:
        ns.wait_until_http()
        ns.wait_for_log(r"WARN .*routebook\.http\.listen=0\.0\.0\.0:0: every machine that reaches this port can read")
