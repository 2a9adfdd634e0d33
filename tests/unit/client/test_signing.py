"""Signatures, compared with vectors from AclClientRPCHook of rocketmq-client 5.5.0."""

import pytest

from routebook.client.signing import Credentials, signed
from routebook.errors import UsageError

VECTORS: list[tuple[str, str, str | None, bytes | None, dict[str, str], str]] = [
    ("rocketmq2", "12345678", None, None, {"topic": "TopicTest"}, "GeeGoP9mRvDhoVp4PD5omX0prgE="),
    (
        "rocketmq2",
        "12345678",
        "tok/en+1",
        b'{"queueDatas":[]}',
        {"topic": "TopicTest", "__ZONE_NAME": "z"},
        "mOsCkJI/NRKigsRLe0eFxDEHqlk=",
    ),
    # beyond ASCII; the two last names stand in the order of UTF-16 units, not of code points
    (
        "ключ",
        "密码é😀",
        None,
        b"\0\1\xff",
        {"topic": "темы集", "a": "", "Z": "z", "\ue000": "bmp", "😀": "astral"},
        "pu2PrCWVrzlM/lS5Z/wCZrInGLI=",
    ),
    ("ak", "s", None, None, {}, "1GVU7HrjKzY9B2d3jvcIKdZltnk="),
    # a signature that is there already does not count, nor does an empty body
    ("ak", "s", None, b"", {"Signature": "old", "b": "2", "a": "1"}, "/cJCaPiBzssHxB/Gy8dbQJTwfWI="),
    ("ak", "s", None, None, {"OnsChannel": "ALIYUN", "topic": "t"}, "1H/URnPlc6pjttE92ctyby7cC2U="),
    # half a surrogate pair is a question mark to Java
    ("ak", "lone\ud800x", None, None, {"topic": "t\udc00"}, "smTd3NlAM+dJmx9kOIKvbP9LAPs="),
]


@pytest.mark.parametrize(("access_key", "secret_key", "token", "body", "ext", "signature"), VECTORS)
def test_java_signs_the_same(
    access_key: str, secret_key: str, token: str | None, body: bytes | None, ext: dict[str, str], signature: str
) -> None:
    credentials = Credentials(access_key=access_key, secret_key=secret_key, security_token=token)

    fields = signed(ext, body, credentials)

    added = {"AccessKey": access_key, "Signature": signature} | ({} if token is None else {"SecurityToken": token})
    assert fields == {**ext, **added}


def test_the_channel_is_one_more_signed_field() -> None:
    by_hand = signed({"topic": "t", "OnsChannel": "ALIYUN"}, None, Credentials(access_key="ak", secret_key="s"))
    by_credentials = signed({"topic": "t"}, None, Credentials(access_key="ak", secret_key="s", channel="ALIYUN"))
    assert by_credentials == by_hand


def test_empty_keys_are_rejected() -> None:
    with pytest.raises(UsageError, match="secret key is empty"):
        Credentials(access_key="ak", secret_key="")
    with pytest.raises(UsageError, match="access key is empty"):
        Credentials(access_key="", secret_key="s")


def test_the_secret_is_not_printed() -> None:
    credentials = Credentials(access_key="ak", secret_key="hidden", security_token="hidden")
    assert "hidden" not in f"{credentials!r} {credentials}"
