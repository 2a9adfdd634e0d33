"""A repeated registration only renews the lease; a similar one passes only the topics that changed."""

from routebook.handlers.registration_cache import RegistrationCache
from routebook.model import RegisterResult, Registration, TopicConfig
from routebook.routes import RouteTable
from routebook.routes.announcements import Announcement
from routebook.wire.register_body import DecodedBody
from routebook.wire.topic_cache import TopicTable
from tests.support.core_client import CoreClient, register_body
from tests.support.route_tables import MASTER, OTHER, PLAIN, SLAVE, key, mapping, register, registration

CHANGED = (TopicConfig(topic_name="A"),)


def decoded(what: Registration, *, table: bool = False) -> DecodedBody:
    topics = what.body.topics or ()
    return DecodedBody(what.body, (), TopicTable(topics, (), CHANGED, (), b"") if table else None)


class Remembering:
    """A route table and the cache of its registrations."""

    def __init__(self) -> None:
        self.table = RouteTable()
        self.cache = RegistrationCache()

    def register(self, what: Registration, *, fingerprint: str = "what", table: bool = False) -> Announcement | None:
        registered = self.table.register(what, connection=1, now_ms=0, policy=PLAIN)
        self.cache.remember(what, decoded(what, table=table), registered, fingerprint=fingerprint)
        return registered.announcement

    def renew(self, what: Registration, *, fingerprint: str = "what") -> RegisterResult | None:
        return self.cache.renew(self.table, what.key, fingerprint=fingerprint, connection=1, now_ms=7)


def test_the_same_request_is_renewed_and_another_is_not() -> None:
    ns = Remembering()
    ns.register(registration())
    assert ns.renew(registration()) == RegisterResult()
    assert ns.renew(registration(), fingerprint="other") is None


def test_a_slave_gets_the_address_of_its_master_again() -> None:
    ns = Remembering()
    register(ns.table, registration())
    slave = registration(addr=SLAVE, broker_id=1)
    ns.register(slave)
    assert ns.renew(slave) == RegisterResult(ha_addr="10.0.0.1:10912", master_addr=MASTER)


def test_an_unknown_broker_is_not_renewed() -> None:
    assert Remembering().renew(registration()) is None


def test_a_broker_with_mappings_of_another_group_registers_each_time() -> None:
    ns = Remembering()
    ns.register(registration())
    other = registration("broker-b", addr=OTHER, mappings=[mapping("TopicTest", "broker-a")])
    ns.register(other)
    assert ns.renew(other) is None


def test_it_can_be_asked_whether_a_repetition_would_be_renewed() -> None:
    ns = Remembering()
    assert not ns.cache.is_renewable(ns.table, key())
    ns.register(registration())
    assert ns.cache.is_renewable(ns.table, key())
    ns.table.wipe_write("broker-a")
    assert not ns.cache.is_renewable(ns.table, key())


def test_the_last_announcement_is_the_brokers_own() -> None:
    ns = Remembering()
    announcement = ns.register(registration(), table=True)
    assert announcement is not None
    assert ns.cache.last_announcement("broker-a") == announcement
    assert ns.cache.last_announcement("broker-b") is None


def test_a_registration_under_an_old_version_does_not_replace_the_remembered_table() -> None:
    ns = Remembering()
    announcement = ns.register(registration(), table=True)
    assert ns.register(registration(topics=("C", "D")), table=True) is None
    assert ns.cache.last_announcement("broker-a") == announcement


def test_brokers_that_left_are_forgotten() -> None:
    asker = CoreClient()
    ext = {"clusterName": "c", "brokerName": "b", "brokerAddr": "127.0.0.1:10911", "brokerId": "0"}
    asker.ask(103, ext, register_body("A", "B").replace(b" ", b""))
    cache = asker.nameserver.registrations
    assert (len(cache._requests), len(cache._tables)) == (1, 1)
    asker.ask(104, ext)
    assert not asker.nameserver.routes.lease_table
    assert (len(cache._requests), len(cache._tables)) == (0, 0)
