"""Loads PEM files, or a self-signed certificate, into a TLS context of the server."""

import ssl
import tempfile
from pathlib import Path
from typing import Final

from routebook.errors import TlsError
from routebook.server.tls.ciphers import restrict_ciphers, restrict_protocols
from routebook.settings import TlsSettings

KEY_MISMATCH: Final = "KEY_VALUES_MISMATCH"
"""OpenSSL's reason if the certificate does not belong to the key."""


def new_context(settings: TlsSettings) -> ssl.SSLContext:
    """Return a context without a certificate. Raises TlsError for unknown protocols or ciphers."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.options |= ssl.OP_NO_RENEGOTIATION
    # RocketMQ clients do not use ALPN. A gRPC client closes the connection without a message unless it gets h2. With h2
    # it sends its preface, and the log can name the mistake. A browser gets an answer in HTTP.
    context.set_alpn_protocols(["http/1.1", "h2"])
    restrict_protocols(context, settings.protocols)
    restrict_ciphers(context, settings.ciphers)
    return context


def file_context(settings: TlsSettings) -> ssl.SSLContext:
    """Return a context with the configured certificate, key and trust files. Raises TlsError."""
    context = new_context(settings)
    if not settings.cert_path or not settings.key_path:
        missing = "routebook.tls.certPath" if not settings.cert_path else "routebook.tls.keyPath"
        raise TlsError(
            f"{missing} is not set: with routebook.tls.testMode=false a certificate (routebook.tls.certPath) "
            "and its key (routebook.tls.keyPath) are needed"
        )
    _load_pair(context, settings.cert_path, settings.key_path, settings.key_password or "")
    if settings.need_client_auth != "none" and settings.auth_client:
        _load_trust(context, settings.trust_cert_path)
        context.verify_mode = ssl.CERT_REQUIRED if settings.need_client_auth == "require" else ssl.CERT_OPTIONAL
    return context


def _load_pair(context: ssl.SSLContext, cert_path: str, key_path: str, password: str) -> None:
    for key, path in (("routebook.tls.certPath", cert_path), ("routebook.tls.keyPath", key_path)):
        _check_readable(path, key)
    try:
        context.load_cert_chain(cert_path, key_path, password=password)
    except ssl.SSLError as error:
        reason = openssl_reason(error)
        if KEY_MISMATCH in repr(error):
            raise TlsError(f"the certificate {cert_path} does not belong to the key {key_path}") from error
        if b"ENCRYPTED" in Path(key_path).read_bytes():
            raise TlsError(f"routebook.tls.keyPassword does not decrypt the key {key_path}") from error
        raise TlsError(f"{cert_path} and {key_path} are not a PEM certificate chain and its key: {reason}") from error
    except OSError as error:
        raise TlsError(f"cannot read {cert_path} or {key_path}: {error.strerror or error}") from error


def _load_trust(context: ssl.SSLContext, trust_path: str | None) -> None:
    if not trust_path:
        context.load_default_certs(ssl.Purpose.CLIENT_AUTH)
        return
    _check_readable(trust_path, "routebook.tls.trustCertPath")
    try:
        context.load_verify_locations(trust_path)
    except (ssl.SSLError, OSError) as error:
        raise TlsError(
            f"{trust_path} (routebook.tls.trustCertPath) contains no PEM certificate: {openssl_reason(error)}"
        ) from error


def _check_readable(path: str, key: str) -> None:
    try:
        with Path(path).open("rb"):
            pass
    except OSError as error:
        raise TlsError(f"cannot read {path} ({key}): {error.strerror or error}") from error


def openssl_reason(error: OSError) -> str:
    """Return OpenSSL's reason in lower case, for error messages."""
    reason = getattr(error, "reason", None)
    return str(reason or error.strerror or error).replace("_", " ").lower()


def self_signed_context(settings: TlsSettings) -> ssl.SSLContext:
    """Return a context for test mode. Java requests a client certificate and ignores it; here none is requested."""
    from routebook.server.tls.self_signed import make_self_signed  # noqa: PLC0415  a slow import, for test mode only

    context = new_context(settings)
    with tempfile.TemporaryDirectory(prefix="routebook-tls-") as folder:
        pair = Path(folder, "pair.pem")
        pair.touch(mode=0o600)
        pair.write_bytes(make_self_signed())
        context.load_cert_chain(pair)
    return context


def expiry_ms(cert_path: str | None) -> int | None:
    """Return the end of the first certificate's validity, in ms since the epoch; None if it cannot be read."""
    from cryptography import x509  # noqa: PLC0415  a slow import, only with a certificate file

    try:
        certificate = x509.load_pem_x509_certificate(Path(cert_path or "").read_bytes())
    except (OSError, ValueError):
        return None
    return int(certificate.not_valid_after_utc.timestamp() * 1000)
