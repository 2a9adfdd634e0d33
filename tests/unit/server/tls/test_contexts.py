"""The context for new connections, and its reload when files change."""

import os
import ssl
import time
from pathlib import Path

import pytest

from routebook.server.tls.contexts import TlsContexts
from routebook.server.tls.session import TlsSession
from tests.support.certificates import Authority
from tests.support.tls_client import TlsClient, TlsFiles, serial_number, tls_settings, trust_only


@pytest.fixture
def files(tmp_path: Path) -> TlsFiles:
    return TlsFiles(tmp_path)


def test_test_mode_uses_one_certificate_for_all_connections() -> None:
    contexts = TlsContexts(tls_settings())
    contexts.load()
    assert contexts.current() is contexts.current()
    assert not contexts.watches
    assert contexts.reload() is None


def test_disabled_tls_loads_nothing(tmp_path: Path) -> None:
    TlsContexts(tls_settings(mode="disabled", cert=tmp_path / "none", key=tmp_path / "none")).load()


def test_a_new_pair_is_used_when_both_files_have_changed(files: TlsFiles) -> None:
    contexts = files.load()
    contexts.reload()
    before = serial_number(contexts, files)
    files.issue_spare()
    files.spare_cert.replace(files.cert)
    assert contexts.reload() is None  # the key is still the old one
    assert serial_number(contexts, files) == before
    files.spare_key.replace(files.key)
    message = contexts.reload()
    assert message is not None
    assert "cert, key" in message
    assert serial_number(contexts, files) != before
    assert contexts.reload() is None


def test_an_unusable_file_is_reported_once_and_the_previous_one_stays(files: TlsFiles) -> None:
    contexts = files.load()
    before = serial_number(contexts, files)
    files.cert.write_text("x")
    message = contexts.reload()
    assert message is not None
    assert "cannot be used" in message
    assert contexts.problem is not None
    files.cert.touch()
    assert contexts.reload() is None
    assert serial_number(contexts, files) == before


def test_a_deleted_file_is_reported_once_and_the_previous_one_stays(files: TlsFiles) -> None:
    contexts = files.load()
    before = serial_number(contexts, files)
    files.key.unlink()
    message = contexts.reload()
    assert message is not None
    assert "cannot read" in message
    assert contexts.reload() is None
    assert serial_number(contexts, files) == before


def test_a_changed_trust_file_is_used(files: TlsFiles) -> None:
    contexts = files.load(trust=files.trust, client_auth="require")
    contexts.reload()
    other = Authority("other")
    files.trust.write_bytes(files.trust.read_bytes() + other.write(files.spare_cert).read_bytes())
    message = contexts.reload()
    assert message is not None
    assert "trust" in message
    context = trust_only(files.trust)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    other.issue("client", cert=files.spare_cert, key=files.spare_key)
    context.load_cert_chain(files.spare_cert, files.spare_key)
    TlsClient(context).handshake(TlsSession(contexts.current()))


def test_a_new_modification_time_alone_changes_nothing(files: TlsFiles) -> None:
    contexts = files.load()
    before = contexts.current()
    os.utime(files.cert, (1, 1))
    os.utime(files.key, (1, 1))
    assert contexts.reload() is None
    assert contexts.current() is before


def test_the_end_of_validity_and_a_mismatch_are_known(files: TlsFiles) -> None:
    contexts = files.load()
    contexts.reload()
    first = contexts.expires_ms
    assert first is not None
    assert 0.9 < (first / 1000 - time.time()) / 86_400 < 1.1
    files.issue_spare()
    files.spare_cert.replace(files.cert)
    assert contexts.reload() is None
    problems = [contexts.problem]
    files.spare_key.replace(files.key)
    contexts.reload()
    problems.append(contexts.problem)
    assert "does not belong to the key" in str(problems[0])
    assert problems[1] is None
    assert contexts.expires_ms is not None
    assert contexts.expires_ms >= first
