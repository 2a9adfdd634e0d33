"""TLS sessions: a real client's records are carried in memory, without a socket."""

import os
import ssl
from pathlib import Path

import pytest

from routebook.errors import ProtocolError
from routebook.server.tls.contexts import TlsContexts
from routebook.server.tls.session import TlsSession
from tests.support.tls_client import TlsClient, TlsFiles, tls_settings, trust_all, trust_only


@pytest.fixture(scope="module")
def contexts() -> TlsContexts:
    contexts = TlsContexts(tls_settings())
    contexts.load()
    return contexts


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_data_goes_both_ways_in_any_chunks(contexts: TlsContexts, version: ssl.TLSVersion) -> None:
    context = trust_all()
    context.minimum_version = context.maximum_version = version
    client, server = TlsClient(context), TlsSession(contexts.current())
    client.handshake(server)
    assert client.tls.version() == {ssl.TLSVersion.TLSv1_2: "TLSv1.2", ssl.TLSVersion.TLSv1_3: "TLSv1.3"}[version]

    question = os.urandom(50_000)
    ciphertext = client.encrypt(question)
    received = b"".join(server.receive(ciphertext[at : at + 7]) for at in range(0, len(ciphertext), 7))
    assert received == question

    answer = os.urandom(300_000)
    assert client.decrypt(server.send(answer)) == answer


def test_close_notify_is_recognised_and_sent(contexts: TlsContexts) -> None:
    client, server = TlsClient(trust_all()), TlsSession(contexts.current())
    client.handshake(server)
    with pytest.raises(ssl.SSLWantReadError):
        client.tls.unwrap()
    assert client.exchange(server) == b""
    assert server.finished
    client.decrypt(server.close())
    client.tls.unwrap()  # succeeds: the server's close_notify has arrived


def test_garbage_is_a_protocol_error(contexts: TlsContexts) -> None:
    with pytest.raises(ProtocolError, match="TLS"):
        TlsSession(contexts.current()).receive(b"\x16\x03\x01\x00\x05hello")


@pytest.fixture
def files(tmp_path: Path) -> TlsFiles:
    return TlsFiles(tmp_path)


def test_the_names_of_a_verified_certificate(files: TlsFiles) -> None:
    contexts = files.load(trust=files.trust, client_auth="require")
    context = trust_only(files.trust)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    files.authority.issue("client", cert=files.spare_cert, key=files.spare_key)
    context.load_cert_chain(files.spare_cert, files.spare_key)
    session = TlsSession(contexts.current())
    assert session.certificate_names == ()
    TlsClient(context).handshake(session)
    assert "client" in session.certificate_names
