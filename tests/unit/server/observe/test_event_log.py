"""Events as log lines."""

import io
import logging
from collections.abc import Iterator

import pytest

from routebook.events import (
    BrokerChanged,
    BrokerDown,
    BrokerUp,
    DownReason,
    Event,
    KvChanged,
    MappingsChanged,
    PermissionRestored,
    PermissionWiped,
    Queues,
    RequestDenied,
    ServerStarted,
    ServerStopped,
    SettingChanged,
    TopicCause,
    TopicDeleted,
    TopicsChanged,
)
from routebook.model import DataVersion
from routebook.server.observe.event_log import EventLog
from routebook.server.observe.log import configure
from routebook.wire.foreign_protocols import ForeignProtocol

QUEUE = Queues(perm=6, read=4, write=4, flag=0)
VERSION = DataVersion(counter=7, state_version=0, timestamp=1)


@pytest.fixture
def lines() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    before = logging.getLogger().handlers[:], logging.getLogger().level, logging.getLogger("routebook").level
    configure(form="text", level="debug", stream=stream)
    yield stream
    logging.getLogger().handlers[:], level, own = before
    logging.getLogger().setLevel(level)
    logging.getLogger("routebook").setLevel(own)


@pytest.fixture
def event_log() -> EventLog:
    return EventLog(lambda: 0.0)


UP = BrokerUp(cluster="c", broker="b", broker_id=0, addr="1.2.3.4:5", timeout_ms=120_000, acting_master=False)


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (UP, "INFO  broker up  cluster=c broker=b id=0 addr=1.2.3.4:5 timeout_ms=120000 peer=9.9.9.9:9"),
        (
            BrokerChanged(
                cluster="c",
                broker="b",
                broker_id=0,
                before_id=1,
                addr="a",
                timeout_ms=1,
                acting_master=False,
                data_version=VERSION,
            ),
            "INFO  broker changed  cluster=c broker=b id=0 addr=a before_id=1 version=7 peer=9.9.9.9:9",
        ),
        (
            BrokerDown(cluster="c", broker="b", broker_id=0, addr="a", reason=DownReason.EXPIRED),
            "WARN  broker down  cluster=c broker=b id=0 addr=a reason=expired peer=9.9.9.9:9",
        ),
        (
            BrokerDown(cluster="c", broker="b", broker_id=0, addr="a", reason=DownReason.UNREGISTERED),
            "INFO  broker down  cluster=c broker=b id=0 addr=a reason=unregistered peer=9.9.9.9:9",
        ),
        (
            TopicsChanged(broker="b", cause=TopicCause.REGISTRATION, added={"t": QUEUE}, removed=("x", "y")),
            "INFO  topics changed  broker=b cause=registration added=1 changed=0 removed=2",
        ),
        (MappingsChanged(broker="b", removed=("t",)), "INFO  static topics changed  broker=b announced=0 removed=1"),
        (PermissionWiped(broker="b", topics=3), "INFO  write permission wiped  broker=b topics=3 peer=9.9.9.9:9"),
        (PermissionRestored(broker="b", topics=3), "INFO  write permission restored  broker=b topics=3 peer=9.9.9.9:9"),
        (
            TopicDeleted(topic="t\n", cluster="c", brokers=("b", "d")),
            'INFO  topic deleted  topic="t\\n" cluster=c brokers=b,d peer=9.9.9.9:9',
        ),
        (
            KvChanged(namespace="n", key="k", before="1", after="2"),
            "INFO  kv put  namespace=n key=k before=1 after=2 peer=9.9.9.9:9",
        ),
        (
            KvChanged(namespace="n", key="k", before="1", deleted=True),
            "INFO  kv deleted  namespace=n key=k before=1 peer=9.9.9.9:9",
        ),
        (
            SettingChanged(key="k", before="1", after="2"),
            "INFO  setting changed  key=k before=1 after=2 peer=9.9.9.9:9",
        ),
        (RequestDenied(code=318, why="no"), "WARN  request denied  peer=9.9.9.9:9 code=318 why=no"),
        (ServerStarted(version="1", listen="h:1"), "INFO  started  version=1 listen=h:1"),
        (ServerStopped(reason="SIGTERM"), "INFO  stopped  reason=SIGTERM"),
    ],
)
def test_each_kind_of_event_has_its_line(lines: io.StringIO, event_log: EventLog, event: Event, line: str) -> None:
    event_log.log([event], "9.9.9.9:9")
    assert [text.partition("Z ")[2] for text in lines.getvalue().splitlines()] == [line]


def test_lines_that_clients_cause_are_throttled_per_host_and_kind(lines: io.StringIO, event_log: EventLog) -> None:
    for port in range(5):
        event_log.foreign_protocol(ForeignProtocol.HTTP, f"1.1.1.1:{port}")
        event_log.foreign_protocol(ForeignProtocol.HTTP2, f"1.1.1.1:{port}")
        event_log.connection_closed("a frame of 7 bytes", f"1.1.1.1:{port}")
        event_log.log([RequestDenied(code=318, why="no")], f"1.1.1.1:{port}")
        event_log.unreachable(f"1.1.1.1:{port}", "no")
    event_log.connection_closed("a frame of 7 bytes", "2.2.2.2:1")
    assert len(lines.getvalue().splitlines()) == 6


def test_the_kv_table_is_logged_up_to_a_limit(lines: io.StringIO, event_log: EventLog) -> None:
    event_log.kv_table({"n": {f"k{number}": None for number in range(2000)}, "empty": {}})
    printed = lines.getvalue().splitlines()
    assert "kv table  namespaces=2 entries=2000" in printed[0]
    assert len(printed) == 1 + 1000


def test_a_failure_is_logged_with_its_traceback_on_one_line(lines: io.StringIO, event_log: EventLog) -> None:
    try:
        raise ValueError("no good")
    except ValueError as error:
        event_log.request_failed(105, "1.1.1.1:1", error)
        event_log.task_failed("scan", error)
    printed = lines.getvalue().splitlines()
    assert len(printed) == 2
    assert all("ERROR" in line and "no good" in line and "trace=" in line for line in printed)
