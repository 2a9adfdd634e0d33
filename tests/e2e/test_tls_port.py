"""Real TLS handshakes on the NameServer port."""

import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.certificates import Authority
from tests.support.process import Process, serving
from tests.support.remoting import Client, eventually, register, route, trusting_anybody
from tests.support.remoting_frames import Request

PROXY = b"PROXY TCP4 203.0.113.9 127.0.0.1 40000 9876\r\n"


@pytest.fixture(scope="module")
def permissive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    with serving(tmp_path_factory.mktemp("home")) as process:
        yield process


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
@pytest.mark.parametrize("before", [b"", PROXY])
def test_tls_and_plain_connections_share_the_port_by_default(
    permissive: Process, version: ssl.TLSVersion, before: bytes
) -> None:
    context = trusting_anybody()
    context.minimum_version = context.maximum_version = version
    with Client(permissive.address, before=before, tls=context) as secret, Client(permissive.address) as plain:
        assert secret.ask(register()).code == 0
        assert plain.ask(route("TopicTest")).body == secret.ask(route("TopicTest")).body != b""


def test_pipelined_requests_in_one_record_and_in_many(permissive: Process) -> None:
    count = 2000
    with Client(permissive.address, tls=trusting_anybody()) as client:
        data = b"".join(route("nowhere", opaque=opaque).encode() for opaque in range(count))
        client.send_chunks(data[at : at + 1009] for at in range(0, len(data), 1009))
        assert [reply.header["opaque"] for reply in client.receive_many(count)] == list(range(count))


def test_a_large_answer(permissive: Process) -> None:
    topics = [f"a-topic-with-a-name-{number:06}" for number in range(20_000)]
    with Client(permissive.address, tls=trusting_anybody()) as client:
        assert client.ask(register(broker="many", addr="127.0.0.1:2", topics=topics)).code == 0
        assert client.ask(Request(code=206)).body.count(b"a-topic-with-a-name-") == len(topics)


def test_close_notify_is_answered(permissive: Process) -> None:
    with Client(permissive.address, tls=trusting_anybody()) as client:
        assert client.ask(route("nowhere")).code == 17
        assert isinstance(client.socket, ssl.SSLSocket)
        client.socket.unwrap().close()


def test_an_invalid_handshake_closes_the_connection(permissive: Process) -> None:
    with Client(permissive.address) as client:
        client.send(b"\x16\x03\x01\x00\x20" + b"x" * 32)
        client.receive_rest()
    permissive.wait_for_log("connection closed .*TLS")


def test_https_gets_an_answer_and_grpc_is_logged(permissive: Process) -> None:
    browser = trusting_anybody()
    browser.set_alpn_protocols(["h2", "http/1.1"])
    with Client(permissive.address, tls=browser) as client:
        client.send(b"GET / HTTP/1.1\r\n\r\n")
        assert client.receive_rest().startswith(b"HTTP/1.1 400 ")
    grpc = trusting_anybody()
    grpc.set_alpn_protocols(["h2"])
    with Client(permissive.address, tls=grpc) as client:
        assert isinstance(client.socket, ssl.SSLSocket)
        assert client.socket.selected_alpn_protocol() == "h2"
        client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        assert client.receive_rest() == b""
    permissive.wait_for_log("gRPC client must use")


def test_enforcing_closes_plain_connections(tmp_path: Path) -> None:
    with serving(tmp_path, settings={"routebook.tls.mode": "enforcing"}) as ns:
        with Client(ns.address) as plain:
            plain.send(route("nowhere").encode())
            assert plain.is_closed_by_server()
        with Client(ns.address, tls=trusting_anybody()) as secret:
            assert secret.ask(route("nowhere")).code == 17
        ns.wait_for_log("routebook.tls.mode=enforcing")


def test_disabled_closes_tls_connections(tmp_path: Path) -> None:
    with serving(tmp_path, settings={"routebook.tls.mode": "disabled"}) as ns:
        with pytest.raises((ssl.SSLError, OSError)):
            Client(ns.address, tls=trusting_anybody())
        with Client(ns.address) as plain:
            assert plain.ask(route("nowhere")).code == 17
        ns.wait_for_log("speaks TLS, which is switched off here")


class Certificates:
    """Certificate files of a server and of clients."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = Authority()
        self.trust = self.authority.write(folder / "trust.pem")
        self.cert, self.key = self.authority.issue("localhost", cert=folder / "cert.pem", key=folder / "key.pem")

    def settings(self) -> dict[str, object]:
        return {
            "routebook.tls.testMode": False,
            "routebook.tls.certPath": str(self.cert),
            "routebook.tls.keyPath": str(self.key),
        }

    def client(self, authority: Authority | None = None) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(self.trust)
        if authority is not None:
            pair = authority.issue("client", cert=self.folder / "client.pem", key=self.folder / "client-key.pem")
            context.load_cert_chain(*pair)
        return context


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path)


def answers(ns: Process, context: ssl.SSLContext) -> bool:
    """Return whether a client gets an answer; with TLS 1.3 it sees a rejection only after its handshake."""
    try:
        with Client(ns.address, tls=context) as client:
            return client.ask(route("nowhere")).code == 17
    except (ssl.SSLError, ConnectionError, AssertionError):
        return False


def test_client_certificates_required(certificates: Certificates, tmp_path: Path) -> None:
    settings = certificates.settings() | {
        "routebook.tls.needClientAuth": "require",
        "routebook.tls.authClient": True,
        "routebook.tls.trustCertPath": str(certificates.trust),
    }
    with serving(tmp_path / "home", settings=settings) as ns:
        assert answers(ns, certificates.client(certificates.authority))
        assert not answers(ns, certificates.client())
        assert not answers(ns, certificates.client(Authority("stranger")))
        ns.wait_for_log("connection closed .*TLS")


def test_new_connections_use_changed_files(certificates: Certificates, tmp_path: Path) -> None:
    with serving(tmp_path / "home", settings=certificates.settings()) as ns:

        def serial_number() -> str:
            with Client(ns.address, tls=certificates.client()) as client:
                assert isinstance(client.socket, ssl.SSLSocket)
                certificate = client.socket.getpeercert()
                assert certificate is not None
                return str(certificate["serialNumber"])

        before = serial_number()
        with Client(ns.address, tls=certificates.client()) as old:
            certificates.authority.issue("localhost", cert=certificates.cert, key=certificates.key)
            eventually(lambda: serial_number() != before, "a new connection gets the new certificate")
            assert old.ask(route("nowhere")).code == 17

        after = serial_number()
        certificates.cert.write_text("broken")
        ns.wait_for_log("the changed TLS files cannot be used")
        assert serial_number() == after
