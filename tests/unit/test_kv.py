"""The KV store: content, events and its file."""

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from routebook.events import KvChanged
from routebook.kv import KvStore
from routebook.wire.request_bodies import decode_kv_table

GOLDEN = Path(__file__).parents[1] / "golden" / "golden.jsonl"


def test_a_new_store_is_empty() -> None:
    store = KvStore()
    assert store.get("ns", "k") is None
    assert store.list("ns") is None
    assert store.encode() == b'{"configTable":{}}'


def test_put_get_list() -> None:
    store = KvStore()
    assert store.put("ns", "k", "v") == (KvChanged(namespace="ns", key="k", after="v"),)
    assert store.get("ns", "k") == "v"
    assert store.list("ns") == {"k": "v"}
    assert store.put("ns", "k", "w") == (KvChanged(namespace="ns", key="k", before="v", after="w"),)
    assert len(store) == 1


def test_equal_values_are_not_a_change() -> None:
    store = KvStore({"ns": {"k": "v", "null": None}})
    before = store.revision
    assert store.put("ns", "k", "v") == ()
    assert store.put("ns", "null", None) == ()
    assert store.delete("ns", "other") == ()
    assert store.delete("none", "k") == ()
    assert store.revision == before
    assert store.list("none") is None


def test_every_change_is_a_revision() -> None:
    store = KvStore()
    first = store.revision
    assert store.put("a", "b", None)
    second = store.revision
    assert store.put("a", "b", "")
    third = store.revision
    assert store.delete("a", "b")
    assert first < second < third < store.revision


def test_a_null_value_is_stored_and_never_returned() -> None:
    store = KvStore()
    assert store.put("ns2", "k", None) == (KvChanged(namespace="ns2", key="k"),)
    assert store.get("ns2", "k") is None
    assert store.list("ns2") == {"k": None}
    assert store.encode() == b'{"configTable":{"ns2":{}}}'


def test_a_namespace_without_keys_stays() -> None:
    store = KvStore({"ns": {"k": "v"}})
    assert store.delete("ns", "k") == (KvChanged(namespace="ns", key="k", before="v", deleted=True),)
    assert store.list("ns") == {}
    assert store.encode() == b'{"configTable":{"ns":{}}}'


def test_the_file_escapes_what_java_escapes() -> None:
    # the same characters as in the captured exchange: a value of a KV table, whatever is around it
    captured = body_of("kv-list-escapes").removeprefix(b'{"table":').removesuffix(b"}")
    value = json.loads(captured)["k"]
    assert KvStore({"ns": {"k": value}}).encode() == b'{"configTable":{"ns":' + captured + b"}}"


def test_a_lone_surrogate_is_a_question_mark_in_the_file() -> None:
    store = KvStore({"n\ud800": {"k\udc00": "a\ud83d", "whole": "😀"}})
    assert store.encode().decode() == '{"configTable":{"n?":{"k?":"a?","whole":"😀"}}}'


def test_the_store_copies_its_input() -> None:
    table: dict[str, str | None] = {"k": "v"}
    store = KvStore({"ns": table})
    table["k"] = "changed"
    assert store.get("ns", "k") == "v"


def test_an_image_is_not_affected_by_later_changes() -> None:
    store = KvStore({"ns": {"k": "v"}, "other": {"k": "v"}})
    image = store.image()
    store.put("ns", "k", "w")
    store.put("ns", "l", "w")
    store.delete("other", "k")
    store.put("new", "k", "v")
    assert b"".join(image.chunks()) == b'{"configTable":{"ns":{"k":"v"},"other":{"k":"v"}}}'
    assert store.encode() == b'{"configTable":{"ns":{"k":"w","l":"w"},"other":{},"new":{"k":"v"}}}'


def test_chunks_are_small_and_form_one_json_text() -> None:
    table: dict[str, str | None] = {f"k{number}": None if number % 7 == 0 else "v" * 100 for number in range(5000)}
    chunks = list(KvStore({"ns": table}).image().chunks())
    assert max(map(len, chunks)) < 16 << 10
    assert json.loads(b"".join(chunks)) == {"configTable": {"ns": {k: v for k, v in table.items() if v is not None}}}


def test_size_follows_every_change() -> None:
    store = KvStore({"ns": {"k": "v", "null": None}})
    store.put("ns", "k", "longer")
    store.put("new", "k", None)
    store.put("new", "k", "x")
    store.delete("ns", "null")
    assert store.size == KvStore(store.namespaces()).size == store.namespace_size("ns") + store.namespace_size("new")
    assert store.growth("ns", "k", "v") == len("v") - len("longer")
    assert store.namespace_revision("new") < store.namespace_revision("ns") == store.revision


TEXT = st.text(st.characters(codec="utf-8"), max_size=8)


@given(st.dictionaries(TEXT, st.dictionaries(TEXT, TEXT, max_size=4), max_size=4))
def test_what_is_written_is_read_back(namespaces: dict[str, dict[str, str]]) -> None:
    assert decode_kv_table(KvStore(namespaces).encode()) == namespaces


def body_of(name: str) -> bytes:
    """The body of a captured answer."""
    for line in GOLDEN.read_text().splitlines():
        vector = json.loads(line)
        if vector["name"] == name:
            frame = bytes.fromhex(vector["response_hex"])
            return frame[8 + int.from_bytes(frame[5:8], "big") :]
    raise LookupError(name)
