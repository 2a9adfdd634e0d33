"""PEM files: which are used, and how the error names one that cannot be."""

import ssl
from pathlib import Path

import pytest

from routebook.errors import ProtocolError, TlsError
from routebook.server.tls.contexts import TlsContexts
from routebook.server.tls.session import TlsSession
from tests.support.certificates import Authority
from tests.support.tls_client import TlsClient, TlsFiles, serial_number, tls_settings, trust_all, trust_only


@pytest.fixture
def files(tmp_path: Path) -> TlsFiles:
    return TlsFiles(tmp_path)


def test_own_certificate(files: TlsFiles) -> None:
    assert serial_number(files.load(), files)


def test_key_with_password(files: TlsFiles) -> None:
    files.authority.issue("localhost", cert=files.cert, key=files.key, password="open sesame")
    assert serial_number(files.load(password="open sesame"), files)
    with pytest.raises(TlsError, match=r"routebook\.tls\.keyPassword does not decrypt the key .*key\.pem"):
        files.load(password="wrong")
    with pytest.raises(TlsError, match="does not decrypt"):
        files.load()


@pytest.mark.parametrize("name", ["cert", "key"])
def test_a_missing_file_is_named(files: TlsFiles, name: str) -> None:
    path: Path = getattr(files, name)
    path.unlink()
    with pytest.raises(TlsError, match=rf"cannot read .*{name}\.pem \(routebook\.tls\.{name}Path\): No such file"):
        files.load()


def test_a_file_without_a_certificate_is_named(files: TlsFiles) -> None:
    files.cert.write_text("hello")
    with pytest.raises(TlsError, match=r"cert\.pem .*not a PEM certificate"):
        files.load()


def test_a_key_of_another_certificate_is_refused(files: TlsFiles) -> None:
    files.issue_spare()
    files.spare_key.replace(files.key)
    with pytest.raises(TlsError, match="does not belong to the key"):
        files.load()


def test_trust_without_a_certificate_is_refused(files: TlsFiles) -> None:
    files.trust.write_text("nobody")
    with pytest.raises(TlsError, match=r"authority\.pem \(routebook\.tls\.trustCertPath\)"):
        files.load(trust=files.trust, client_auth="require")


def connect_with_certificate(files: TlsFiles, contexts: TlsContexts, authority: Authority | None) -> None:
    context = trust_only(files.trust)
    context.maximum_version = ssl.TLSVersion.TLSv1_2  # there the handshake includes the rejection
    if authority is not None:
        authority.issue("client", cert=files.spare_cert, key=files.spare_key)
        context.load_cert_chain(files.spare_cert, files.spare_key)
    client = TlsClient(context)
    client.handshake(TlsSession(contexts.current()))


def test_a_required_client_certificate(files: TlsFiles) -> None:
    contexts = files.load(trust=files.trust, client_auth="require")
    connect_with_certificate(files, contexts, files.authority)
    with pytest.raises(ProtocolError, match="did not return a certificate"):
        connect_with_certificate(files, contexts, None)
    with pytest.raises(ProtocolError, match="verify failed"):
        connect_with_certificate(files, contexts, Authority("stranger"))


def test_an_optional_client_certificate(files: TlsFiles) -> None:
    contexts = files.load(trust=files.trust, client_auth="optional")
    connect_with_certificate(files, contexts, files.authority)
    connect_with_certificate(files, contexts, None)
    with pytest.raises(ProtocolError, match="verify failed"):
        connect_with_certificate(files, contexts, Authority("stranger"))


def test_no_client_certificate_is_requested(files: TlsFiles) -> None:
    connect_with_certificate(files, files.load(), Authority("stranger"))


@pytest.mark.parametrize("offered", [["h2"], ["h2", "http/1.1"], ["something"], []])
def test_alpn_lets_a_grpc_client_get_far_enough_to_be_recognised(offered: list[str]) -> None:
    context = trust_all()
    if offered:
        context.set_alpn_protocols(offered)
    client, server = TlsClient(context), TlsSession(TlsContexts(tls_settings()).current())
    client.handshake(server)
    expected = "http/1.1" if "http/1.1" in offered else "h2" if "h2" in offered else None
    assert client.tls.selected_alpn_protocol() == expected
