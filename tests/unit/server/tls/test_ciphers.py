"""Protocols and ciphers by their Java names."""

import ssl

import pytest

from routebook.errors import ProtocolError, TlsError
from routebook.server.tls.contexts import TlsContexts
from routebook.server.tls.session import TlsSession
from routebook.settings import TlsSettings
from tests.support.tls_client import TlsClient, tls_settings, trust_all


def cipher_with(contexts: TlsContexts, version: ssl.TLSVersion) -> str | None:
    context = trust_all()
    context.minimum_version = context.maximum_version = version
    client = TlsClient(context)
    client.handshake(TlsSession(contexts.current()))
    cipher = client.tls.cipher()
    return cipher[0] if cipher else None


def test_other_protocols_are_rejected() -> None:
    contexts = TlsContexts(tls_settings(protocols="TLSv1.3"))
    cipher_with(contexts, ssl.TLSVersion.TLSv1_3)
    with pytest.raises(ProtocolError, match="unsupported protocol"):
        cipher_with(contexts, ssl.TLSVersion.TLSv1_2)


def test_ciphers_may_have_java_names() -> None:
    java_names = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, TLS_RSA_WITH_AES_128_CBC_SHA256"
    contexts = TlsContexts(tls_settings(ciphers=java_names))
    assert cipher_with(contexts, ssl.TLSVersion.TLSv1_2) == "ECDHE-ECDSA-AES256-GCM-SHA384"
    with pytest.raises((ProtocolError, ssl.SSLError)):
        cipher_with(contexts, ssl.TLSVersion.TLSv1_3)


def test_ciphers_of_tls_1_3_only() -> None:
    contexts = TlsContexts(tls_settings(ciphers="TLS_AES_128_GCM_SHA256"))
    cipher_with(contexts, ssl.TLSVersion.TLSv1_3)
    with pytest.raises(ProtocolError):
        cipher_with(contexts, ssl.TLSVersion.TLSv1_2)


@pytest.mark.parametrize("wrong", [tls_settings(protocols="TLSv9"), tls_settings(ciphers="TLS_NONSENSE")])
def test_unknown_names_are_an_error(wrong: TlsSettings) -> None:
    with pytest.raises(TlsError, match="is unknown"):
        TlsContexts(wrong).load()
