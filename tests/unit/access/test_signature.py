"""The signed content on the server side; tests/unit/client/test_signing.py has Java's vectors."""

from routebook.access.signature import content_of, sign
from tests.unit.client.test_signing import VECTORS


def test_signatures_of_java_are_verified() -> None:
    for access_key, secret_key, token, body, ext, signature in VECTORS:
        sent = {**ext, "AccessKey": access_key, "Signature": signature}
        if token is not None:
            sent["SecurityToken"] = token
        assert sign(content_of(sent, body, version=513), secret_key) == signature


def test_a_field_without_a_value_counts_as_empty() -> None:
    """The binary header has no other way to send one."""
    assert content_of({"a": "1", "b": None, "c": "2"}, None) == content_of({"a": "1", "b": "", "c": "2"}, None) == b"12"


def test_clients_up_to_4_9_3_do_not_sign_one_field() -> None:
    ext = {"AccessKey": "ak", "_UNIQUE_KEY_QUERY": "true", "topic": "T"}
    assert content_of(ext, b"!", version=399) == b"akT!"
    assert content_of(ext, b"!", version=401) == b"aktrueT!"
