"""TLS in memory: a real client's records are carried by hand, so no socket is needed."""

import os
import ssl
from pathlib import Path

import pytest

from routebook.errors import ProtocolError, TlsError
from routebook.server.tls.session import TlsContexts, TlsSession
from routebook.settings import TlsSettings
from tests.support.certificates import Authority


def settings(
    *,
    mode: str = "permissive",
    test_mode: bool = True,
    cert: Path | None = None,
    key: Path | None = None,
    password: str | None = None,
    client_auth: str = "none",
    trust: Path | None = None,
    ciphers: str | None = None,
    protocols: str | None = None,
) -> TlsSettings:
    return TlsSettings(
        mode=mode,
        test_mode=test_mode and cert is None,
        key_path=str(key) if key else None,
        key_password=password,
        cert_path=str(cert) if cert else None,
        need_client_auth=client_auth,
        auth_client=trust is not None,
        trust_cert_path=str(trust) if trust else None,
        ciphers=ciphers,
        protocols=protocols,
    )


class Client:
    """The other side: Python's own TLS client, without a socket."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._in, self._out, server_hostname="localhost")

    def shake_hands(self, server: TlsSession) -> None:
        for _ in range(10):
            try:
                self.tls.do_handshake()
            except ssl.SSLWantReadError:
                self.exchange(server)
            else:
                self.exchange(server)
                return
        raise AssertionError("no handshake after ten rounds")

    def exchange(self, server: TlsSession) -> bytes:
        """Carry records both ways; what the server made of the client's is returned."""
        plain = server.receive(self._out.read())
        self._in.write(server.outgoing())
        return plain

    def take(self, ciphertext: bytes) -> bytes:
        self._in.write(ciphertext)
        received = b""
        while True:
            try:
                received += self.tls.read(1 << 16)
            except (ssl.SSLWantReadError, ssl.SSLZeroReturnError):
                return received

    def ciphertext(self, plain: bytes) -> bytes:
        self.tls.write(plain)
        return self._out.read()


def trusting_anybody() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def trusting(authority: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(authority)
    return context


@pytest.fixture(scope="module")
def contexts() -> TlsContexts:
    contexts = TlsContexts(settings())
    contexts.load()
    return contexts


@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_data_goes_both_ways_in_any_chunks(contexts: TlsContexts, version: ssl.TLSVersion) -> None:
    context = trusting_anybody()
    context.minimum_version = context.maximum_version = version
    client, server = Client(context), TlsSession(contexts.current())
    client.shake_hands(server)
    assert client.tls.version() == {ssl.TLSVersion.TLSv1_2: "TLSv1.2", ssl.TLSVersion.TLSv1_3: "TLSv1.3"}[version]

    question = os.urandom(50_000)
    ciphertext = client.ciphertext(question)
    received = b"".join(server.receive(ciphertext[at : at + 7]) for at in range(0, len(ciphertext), 7))
    assert received == question

    answer = os.urandom(300_000)
    assert client.take(server.send(answer)) == answer


def test_goodbye_is_heard_and_said(contexts: TlsContexts) -> None:
    client, server = Client(trusting_anybody()), TlsSession(contexts.current())
    client.shake_hands(server)
    with pytest.raises(ssl.SSLWantReadError):
        client.tls.unwrap()
    assert client.exchange(server) == b""
    assert server.finished
    client.take(server.close())
    client.tls.unwrap()  # the server's goodbye is there: no complaint


def test_garbage_is_a_protocol_error(contexts: TlsContexts) -> None:
    with pytest.raises(ProtocolError, match="TLS"):
        TlsSession(contexts.current()).receive(b"\x16\x03\x01\x00\x05hello")


def test_test_mode_makes_one_certificate_for_all(contexts: TlsContexts) -> None:
    assert contexts.current() is contexts.current()
    assert not contexts.watches
    assert contexts.reload() is None


@pytest.mark.parametrize("offered", [["h2"], ["h2", "http/1.1"], ["something"], []])
def test_a_grpc_client_gets_far_enough_to_be_recognised(contexts: TlsContexts, offered: list[str]) -> None:
    context = trusting_anybody()
    if offered:
        context.set_alpn_protocols(offered)
    client, server = Client(context), TlsSession(contexts.current())
    client.shake_hands(server)
    expected = "http/1.1" if "http/1.1" in offered else "h2" if "h2" in offered else None
    assert client.tls.selected_alpn_protocol() == expected


@pytest.fixture
def files(tmp_path: Path) -> "Files":
    return Files(tmp_path)


class Files:
    """A server's certificate, key and trust files, and the authority behind them."""

    def __init__(self, folder: Path) -> None:
        self.authority = Authority()
        self.trust = self.authority.write(folder / "authority.pem")
        self.cert, self.key = folder / "cert.pem", folder / "key.pem"
        self.spare_cert, self.spare_key = folder / "spare-cert.pem", folder / "spare-key.pem"
        self.authority.issue("localhost", cert=self.cert, key=self.key)

    def load(self, *, password: str | None = None, trust: Path | None = None, client_auth: str = "none") -> TlsContexts:
        contexts = TlsContexts(
            settings(cert=self.cert, key=self.key, password=password, trust=trust, client_auth=client_auth)
        )
        contexts.load()
        return contexts

    def issue_spare(self) -> None:
        self.authority.issue("localhost", cert=self.spare_cert, key=self.spare_key)


def serial_number(contexts: TlsContexts, files: Files) -> str:
    client, server = Client(trusting(files.trust)), TlsSession(contexts.current())
    client.shake_hands(server)
    certificate = client.tls.getpeercert()
    assert certificate is not None
    return str(certificate["serialNumber"])


def test_own_certificate(files: Files) -> None:
    assert serial_number(files.load(), files)


def test_key_with_password(files: Files) -> None:
    files.authority.issue("localhost", cert=files.cert, key=files.key, password="open sesame")
    assert serial_number(files.load(password="open sesame"), files)
    with pytest.raises(TlsError, match=r"key\.pem does not open with routebook\.tls\.keyPassword"):
        files.load(password="wrong")
    with pytest.raises(TlsError, match="does not open"):
        files.load()


@pytest.mark.parametrize("name", ["cert", "key"])
def test_a_missing_file_is_named(files: Files, name: str) -> None:
    path: Path = getattr(files, name)
    path.unlink()
    with pytest.raises(TlsError, match=rf"{name}\.pem \(routebook\.tls\.{name}Path\) cannot be read: No such file"):
        files.load()


def test_a_file_that_is_no_certificate_is_named(files: Files) -> None:
    files.cert.write_text("hello")
    with pytest.raises(TlsError, match=r"cert\.pem .*not a PEM certificate"):
        files.load()


def test_a_key_of_another_certificate_is_refused(files: Files) -> None:
    files.issue_spare()
    files.spare_key.replace(files.key)
    with pytest.raises(TlsError, match="does not belong to the key"):
        files.load()


def test_trust_without_a_certificate_is_refused(files: Files) -> None:
    files.trust.write_text("nobody")
    with pytest.raises(TlsError, match=r"authority\.pem \(routebook\.tls\.trustCertPath\)"):
        files.load(trust=files.trust, client_auth="require")


class TestClientCertificates:
    def shake(self, files: Files, contexts: TlsContexts, *, authority: Authority | None) -> None:
        context = trusting(files.trust)
        context.maximum_version = ssl.TLSVersion.TLSv1_2  # there a refusal is part of the handshake
        if authority is not None:
            authority.issue("client", cert=files.spare_cert, key=files.spare_key)
            context.load_cert_chain(files.spare_cert, files.spare_key)
        client = Client(context)
        client.shake_hands(TlsSession(contexts.current()))

    def test_required(self, files: Files) -> None:
        contexts = files.load(trust=files.trust, client_auth="require")
        self.shake(files, contexts, authority=files.authority)
        with pytest.raises(ProtocolError, match="did not return a certificate"):
            self.shake(files, contexts, authority=None)
        with pytest.raises(ProtocolError, match="verify failed"):
            self.shake(files, contexts, authority=Authority("stranger"))

    def test_optional(self, files: Files) -> None:
        contexts = files.load(trust=files.trust, client_auth="optional")
        self.shake(files, contexts, authority=files.authority)
        self.shake(files, contexts, authority=None)
        with pytest.raises(ProtocolError, match="verify failed"):
            self.shake(files, contexts, authority=Authority("stranger"))

    def test_none(self, files: Files) -> None:
        self.shake(files, files.load(), authority=Authority("stranger"))


class TestReload:
    def test_a_new_pair_is_taken_up(self, files: Files) -> None:
        contexts = files.load()
        contexts.reload()
        before = serial_number(contexts, files)
        files.issue_spare()
        files.spare_cert.replace(files.cert)
        assert contexts.reload() is None  # the key is still the old one
        assert serial_number(contexts, files) == before
        files.spare_key.replace(files.key)
        note = contexts.reload()
        assert note is not None
        assert "cert, key" in note
        assert serial_number(contexts, files) != before
        assert contexts.reload() is None

    def test_what_cannot_be_used_is_noted_once_and_the_old_stays(self, files: Files) -> None:
        contexts = files.load()
        before = serial_number(contexts, files)
        files.cert.write_text("x")
        note = contexts.reload()
        assert note is not None
        assert "cannot be used" in note
        files.cert.touch()
        assert contexts.reload() is None
        assert serial_number(contexts, files) == before

    def test_a_deleted_file_is_noted_once_and_the_old_stays(self, files: Files) -> None:
        contexts = files.load()
        before = serial_number(contexts, files)
        files.key.unlink()
        note = contexts.reload()
        assert note is not None
        assert "cannot be read" in note
        assert contexts.reload() is None
        assert serial_number(contexts, files) == before

    def test_trust_alone_is_taken_up(self, files: Files) -> None:
        contexts = files.load(trust=files.trust, client_auth="require")
        contexts.reload()
        other = Authority("other")
        files.trust.write_bytes(files.trust.read_bytes() + other.write(files.spare_cert).read_bytes())
        note = contexts.reload()
        assert note is not None
        assert "trust" in note
        TestClientCertificates().shake(files, contexts, authority=other)

    def test_touched_but_the_same_is_nothing_new(self, files: Files) -> None:
        contexts = files.load()
        before = contexts.current()
        os.utime(files.cert, (1, 1))
        os.utime(files.key, (1, 1))
        assert contexts.reload() is None
        assert contexts.current() is before


class TestRestrictions:
    def shake(self, contexts: TlsContexts, version: ssl.TLSVersion) -> str | None:
        context = trusting_anybody()
        context.minimum_version = context.maximum_version = version
        client = Client(context)
        client.shake_hands(TlsSession(contexts.current()))
        cipher = client.tls.cipher()
        return cipher[0] if cipher else None

    def test_protocols(self) -> None:
        contexts = TlsContexts(settings(protocols="TLSv1.3"))
        self.shake(contexts, ssl.TLSVersion.TLSv1_3)
        with pytest.raises(ProtocolError, match="unsupported protocol"):
            self.shake(contexts, ssl.TLSVersion.TLSv1_2)

    def test_ciphers_by_javas_names(self) -> None:
        java_names = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, TLS_RSA_WITH_AES_128_CBC_SHA256"
        contexts = TlsContexts(settings(ciphers=java_names))
        assert self.shake(contexts, ssl.TLSVersion.TLSv1_2) == "ECDHE-ECDSA-AES256-GCM-SHA384"
        with pytest.raises((ProtocolError, ssl.SSLError)):
            self.shake(contexts, ssl.TLSVersion.TLSv1_3)

    def test_ciphers_of_tls_1_3_only(self) -> None:
        contexts = TlsContexts(settings(ciphers="TLS_AES_128_GCM_SHA256"))
        self.shake(contexts, ssl.TLSVersion.TLSv1_3)
        with pytest.raises(ProtocolError):
            self.shake(contexts, ssl.TLSVersion.TLSv1_2)

    @pytest.mark.parametrize("wrong", [settings(protocols="TLSv9"), settings(ciphers="TLS_NONSENSE")])
    def test_unknown_names_stop_the_start(self, wrong: TlsSettings) -> None:
        with pytest.raises(TlsError, match="is unknown"):
            TlsContexts(wrong).load()

    def test_disabled_loads_nothing(self, tmp_path: Path) -> None:
        TlsContexts(settings(mode="disabled", cert=tmp_path / "none", key=tmp_path / "none")).load()
