"""TLS of the client: trusted, untrusted, unverified, and missing on one side."""

import ssl
from pathlib import Path

import pytest

from routebook.client import NameServerClient, trusted_tls, unverified_tls
from routebook.errors import ConnectionFailed, NotANameServer, TimedOut, Unreachable, Untrusted, UsageError
from tests.support.asynchronous import asynchronous
from tests.support.certificates import Authority
from tests.support.scripted_nameserver import Conversation, ScriptedNameServer, answer_all, never_answer


class Files:
    """An authority's certificate, and what a server has of it."""

    def __init__(self, folder: Path) -> None:
        authority = Authority()
        self.ca = authority.write(folder / "ca.pem")
        self.cert, self.key = authority.issue("localhost", cert=folder / "cert.pem", key=folder / "key.pem")

    def server(self, *, wants_certificate: bool = False) -> ssl.SSLContext:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=self.ca)
        context.load_cert_chain(self.cert, self.key)
        if wants_certificate:
            context.verify_mode = ssl.CERT_REQUIRED
        return context


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("tls"))


@asynchronous
async def test_a_trusted_server(files: Files) -> None:
    async with ScriptedNameServer(answer_all, tls=files.server()) as server:
        for context in (trusted_tls(ca=files.ca), unverified_tls()):
            async with NameServerClient(server.address, tls=context) as client:
                assert await client.topics() == ["t"]


@asynchronous
async def test_an_untrusted_server(files: Files) -> None:
    async with (
        ScriptedNameServer(answer_all, tls=files.server()) as server,
        NameServerClient(server.address, tls=True) as client,
    ):
        with pytest.raises(Untrusted, match="certificate that is not trusted"):
            await client.topics()


@asynchronous
async def test_a_server_that_requires_a_client_certificate(files: Files) -> None:
    async with ScriptedNameServer(answer_all, tls=files.server(wants_certificate=True)) as server:
        ours = trusted_tls(ca=files.ca, cert=files.cert, key=files.key)
        async with NameServerClient(server.address, tls=ours) as client:
            assert await client.topics() == ["t"]
        async with NameServerClient(server.address, tls=trusted_tls(ca=files.ca)) as client:
            with pytest.raises(ConnectionFailed) as refused:
                await client.topics()
    # over TLS 1.3 the refusal comes after the handshake, and may be lost with the connection
    assert isinstance(refused.value, Untrusted | Unreachable)


@asynchronous
async def test_plain_to_a_tls_port(files: Files) -> None:
    async with ScriptedNameServer(answer_all, tls=files.server()) as server, NameServerClient(server.address) as client:
        with pytest.raises(ConnectionFailed, match="TLS"):
            await client.topics()


@asynchronous
async def test_tls_to_a_port_without_tls() -> None:
    async def plain(conversation: Conversation) -> None:
        conversation.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await conversation.closed_by_client()

    async def slam(conversation: Conversation) -> None:
        conversation.close()

    async with ScriptedNameServer(plain) as server, NameServerClient(server.address, tls=unverified_tls()) as client:
        with pytest.raises(NotANameServer, match="TLS handshake failed"):
            await client.topics()
    async with ScriptedNameServer(slam) as server, NameServerClient(server.address, tls=unverified_tls()) as client:
        with pytest.raises(ConnectionFailed, match="TLS"):
            await client.topics()


@asynchronous
async def test_a_handshake_that_never_ends() -> None:
    async with (
        ScriptedNameServer(never_answer) as server,
        NameServerClient(server.address, tls=unverified_tls(), timeout_s=5, connect_timeout_s=0.2) as client,
    ):
        with pytest.raises(TimedOut, match=r"did not accept a connection within 0\.2 s"):
            await client.topics()


def test_unusable_files(tmp_path: Path) -> None:
    (tmp_path / "junk.pem").write_text("junk")
    for ca in (tmp_path / "absent.pem", tmp_path / "junk.pem"):
        with pytest.raises(UsageError, match=ca.name):
            trusted_tls(ca=ca)
    with pytest.raises(UsageError, match=r"absent\.pem"):
        unverified_tls(cert=tmp_path / "absent.pem")
