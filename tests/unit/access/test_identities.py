"""The identities file, its errors, and authentication."""

import hashlib

import pytest

from routebook.access.classes import Access
from routebook.access.identities import Identities
from routebook.access.signature import content_of, sign
from routebook.errors import AccessFileError

TOKEN = "a-token-that-is-long-enough-to-be-kept-hashed"
FILE = f"""
anonymous = ["route_read"]

[[identity]]
name = "broker-a"
access_key = "key-a"
secret = "secret-of-a"
access = ["broker_control"]
clusters = ["c1"]
brokers = ["broker-a"]
networks = ["10.0.0.0/8", "127.0.0.1", "fd00::/8"]

[[identity]]
name = "ops"
secret = "env:OPS_SECRET"
access = ["admin_write"]

[[identity]]
name = "prometheus"
secret = "sha256:{hashlib.sha256(TOKEN.encode()).hexdigest()}"
access = ["route_read"]

[[identity]]
name = "broker-b"
access = ["broker_control"]
certificates = ["b.example", "spiffe://fleet/b"]
"""


def parse(text: str) -> Identities:
    return Identities.parse(text, name="ids.toml", environ={"OPS_SECRET": "from-the-environment"})


@pytest.fixture(scope="module")
def identities() -> Identities:
    return parse(FILE)


def test_a_valid_file(identities: Identities) -> None:
    broker = identities.by_name("broker-a")
    assert broker is not None
    assert broker.access == {Access.BROKER_CONTROL, Access.ROUTE_READ}
    assert broker.clusters == frozenset({"c1"})
    assert broker.brokers == frozenset({"broker-a"})
    assert identities.anonymous is not None
    assert identities.anonymous.access == {Access.ROUTE_READ}
    assert len(identities) == 4


@pytest.mark.parametrize(
    ("host", "welcome"),
    [
        ("10.1.2.3", True),
        ("127.0.0.1", True),
        ("::ffff:10.1.2.3", True),
        ("fd00::1", True),
        ("fe80::1%eth0", False),
        ("127.0.0.2", False),
        ("unknown", False),
    ],
)
def test_networks(identities: Identities, host: str, welcome: bool) -> None:
    broker, ops = identities.by_name("broker-a"), identities.by_name("ops")
    assert broker is not None
    assert ops is not None
    assert broker.allows_host(host) is welcome
    assert ops.allows_host(host)


def test_a_signature_identifies_its_signer(identities: Identities) -> None:
    content = content_of({"topic": "T", "AccessKey": "key-a"}, b"body")
    right = sign(content, "secret-of-a")
    assert identities.verify("key-a", content, right) is identities.by_name("broker-a")
    assert identities.verify("key-a", content + b"x", right) is None
    assert identities.verify("ops", content, right) is None
    assert identities.verify("nobody", content, right) is None
    for wrong in ("", right[:-1], right.lower(), "\udc00", sign(content, "")):
        assert identities.verify("key-a", content, wrong) is None
    assert identities.verify("ops", content, sign(content, "from-the-environment")) is identities.by_name("ops")


@pytest.mark.parametrize("access_key", ["prometheus", "broker-b"])
def test_an_identity_without_a_known_secret_cannot_sign(identities: Identities, access_key: str) -> None:
    assert identities.has_access_key(access_key)
    assert not identities.can_sign(access_key)
    for secret in ("", TOKEN, hashlib.sha256(TOKEN.encode()).hexdigest()):
        assert identities.verify(access_key, b"content", sign(b"content", secret)) is None


def test_a_secret_identifies_its_owner(identities: Identities) -> None:
    assert identities.authenticate("key-a", "secret-of-a") is identities.by_name("broker-a")
    assert identities.authenticate("ops", "from-the-environment") is identities.by_name("ops")
    assert identities.authenticate("prometheus", TOKEN) is identities.by_name("prometheus")
    for access_key, secret in (
        ("key-a", "secret-of-b"),
        ("broker-a", "secret-of-a"),  # its name is not its access key
        ("ops", "env:OPS_SECRET"),
        ("prometheus", hashlib.sha256(TOKEN.encode()).hexdigest()),
        ("broker-b", ""),
        ("broker-b", "\0" * 32),
        ("", ""),
        ("nobody", "\udc00"),
    ):
        assert identities.authenticate(access_key, secret) is None


def test_a_short_secret_is_rejected_if_only_its_hash_is_known() -> None:
    digest = hashlib.sha256(b"password").hexdigest()
    weak = parse(f'[[identity]]\nname = "weak"\nsecret = "sha256:{digest}"\naccess = ["admin_read"]')
    assert weak.authenticate("weak", "password") is None


def test_certificates(identities: Identities) -> None:
    broker = identities.by_name("broker-b")
    assert identities.by_certificate(["x", "b.example"]) is broker
    assert identities.by_certificate(["b.example", "spiffe://fleet/b"]) is broker
    assert identities.by_certificate(["*.example", "B.example", ""]) is None
    assert identities.by_certificate([]) is None


def test_an_ambiguous_certificate_identifies_no_one() -> None:
    two = "".join(
        f'[[identity]]\nname = "{name}"\naccess = ["route_read"]\ncertificates = ["{name}"]\n' for name in "ab"
    )
    assert parse(two).by_certificate(["a", "b"]) is None


def test_secrets_are_not_part_of_any_text(identities: Identities) -> None:
    texts = f"{identities!r} {identities} {identities._by_access_key!r} {identities.by_name('ops')!r}"
    for secret in ("secret-of-a", "from-the-environment", TOKEN):
        assert secret not in texts


ONE = '[[identity]]\nname = "a"\nsecret = "long-enough"\naccess = ["route_read"]\n'


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", ": add one, or disable authentication"),
        ("name = [", "not TOML"),
        ("identities = 1", "did you mean identity"),
        ('identity = "a"', r"written as \[\[identity\]\]"),
        (ONE + 'secrets = "x"', "did you mean secret"),
        (ONE.replace("route_read", "route-read"), "is not one of route_read, broker_control"),
        (ONE.replace('["route_read"]', "[]"), "at least one of"),
        (ONE.replace('["route_read"]', '"route_read"'), "must be a list of texts"),
        (ONE.replace('name = "a"\n', ""), "identity number 1: needs a unique, printable name"),
        (ONE.replace('"a"', '"anonymous"'), "needs a unique, printable name"),
        (ONE.replace('"long-enough"', '"short"'), "at least 8 characters"),
        (ONE.replace('"long-enough"', "12345678"), "secret must be a quoted text"),
        (ONE.replace('"long-enough"', '"env:ABSENT"'), "variable ABSENT is missing"),
        (ONE.replace('"long-enough"', '"sha256:abc"'), "64 hexadecimal digits"),
        (ONE.replace('secret = "long-enough"\n', ""), "no credentials"),
        (ONE + 'networks = ["10.0.0.1/8"]', "has host bits set"),
        (ONE + "clusters = []", "an empty list allows nothing"),
        (ONE + ONE, "two identities have the name 'a'"),
        (ONE + ONE.replace('"a"', '"b"\naccess_key = "a"'), "two identities have the access key 'a'"),
        ('anonymous = ["admin_read"]\n' + ONE, "route_read only"),
        ("anonymous = true\n" + ONE, "must be a list"),
    ],
)
def test_errors_describe_the_problem(text: str, says: str) -> None:
    with pytest.raises(AccessFileError, match=says) as error:
        parse(text)
    assert str(error.value).startswith("ids.toml: ")
    assert "long-enough" not in str(error.value)
