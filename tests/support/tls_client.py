"""A TLS client without a socket, and the files of a TLS server."""

import ssl
from pathlib import Path

from routebook.server.tls.contexts import TlsContexts
from routebook.server.tls.session import TlsSession
from routebook.settings import TlsSettings
from tests.support.certificates import Authority


def tls_settings(
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


class TlsClient:
    """Python's own TLS client over memory buffers."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self.tls = context.wrap_bio(self._in, self._out, server_hostname="localhost")

    def handshake(self, server: TlsSession) -> None:
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
        """Carry records both ways; return what the server has decrypted."""
        plain = server.receive(self._out.read())
        self._in.write(server.outgoing())
        return plain

    def decrypt(self, ciphertext: bytes) -> bytes:
        self._in.write(ciphertext)
        received = b""
        while True:
            try:
                received += self.tls.read(1 << 16)
            except (ssl.SSLWantReadError, ssl.SSLZeroReturnError):
                return received

    def encrypt(self, plain: bytes) -> bytes:
        self.tls.write(plain)
        return self._out.read()


def trust_all() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def trust_only(authority: Path) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(authority)
    return context


class TlsFiles:
    """The certificate, key and trust files of a server, and the authority that issued them."""

    def __init__(self, folder: Path) -> None:
        self.authority = Authority()
        self.trust = self.authority.write(folder / "authority.pem")
        self.cert, self.key = folder / "cert.pem", folder / "key.pem"
        self.spare_cert, self.spare_key = folder / "spare-cert.pem", folder / "spare-key.pem"
        self.authority.issue("localhost", cert=self.cert, key=self.key)

    def load(self, *, password: str | None = None, trust: Path | None = None, client_auth: str = "none") -> TlsContexts:
        contexts = TlsContexts(
            tls_settings(cert=self.cert, key=self.key, password=password, trust=trust, client_auth=client_auth)
        )
        contexts.load()
        return contexts

    def issue_spare(self) -> None:
        self.authority.issue("localhost", cert=self.spare_cert, key=self.spare_key)


def serial_number(contexts: TlsContexts, files: TlsFiles) -> str:
    client, server = TlsClient(trust_only(files.trust)), TlsSession(contexts.current())
    client.handshake(server)
    certificate = client.tls.getpeercert()
    assert certificate is not None
    return str(certificate["serialNumber"])
