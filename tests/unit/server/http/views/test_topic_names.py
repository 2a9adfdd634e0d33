"""Paged topic names: sorted, filtered, consistent with the tables."""

import random

from routebook.server.http.views.topic_names import TopicNames
from tests.support.asynchronous import asynchronous
from tests.support.core_client import CoreClient


def delete(asker: CoreClient, topic: str) -> None:
    asker.ask(216, {"topic": topic})


def test_names_are_sorted_and_follow_the_tables() -> None:
    asker, rng = CoreClient(), random.Random(1)
    names = TopicNames(asker.nameserver.routes)
    assert names.sorted() == []
    for step in range(60):
        if step % 3 == 2:
            delete(asker, rng.choice(list(asker.nameserver.routes.topic_table)))
        else:
            topics = [f"t{rng.randrange(100)}" for _ in range(5)]
            asker.register(*topics, broker=f"b{step}", addr=f"10.0.0.{step}:1", connection=step + 1)
        assert names.sorted() == sorted(asker.nameserver.routes.topic_table)


def test_one_topic_removed_and_one_added() -> None:
    asker = CoreClient()
    asker.register("a", "b")
    names = TopicNames(asker.nameserver.routes)
    assert names.sorted() == ["a", "b"]
    delete(asker, "a")
    asker.register("b", "c", counter=2)
    assert names.sorted() == ["b", "c"]


def test_names_are_sorted_only_after_a_change() -> None:
    asker = CoreClient()
    asker.register("a", "b")
    names = TopicNames(asker.nameserver.routes)
    assert names.sorted() is names.sorted()


@asynchronous
async def test_pages_cover_everything_once() -> None:
    asker = CoreClient()
    topics = [f"topic-{number:05}" for number in range(10_000)]
    asker.register(*topics)
    names = TopicNames(asker.nameserver.routes)
    for matches, expected in ((None, topics), (lambda name: name.endswith("7"), topics[7::10])):
        seen: list[str] = []
        after, more = "", True
        while more:
            page = await names.page(after=after, limit=777, matches=matches)
            assert len(page.names) == 777 or not page.more
            seen += page.names
            after, more = page.names[-1], page.more
        assert seen == expected


@asynchronous
async def test_empty_pages() -> None:
    asker = CoreClient()
    names = TopicNames(asker.nameserver.routes)
    assert await names.page(after="", limit=5, matches=None) == ([], False)
    asker.register("a", "b")
    assert await names.page(after="b", limit=5, matches=None) == ([], False)
    assert await names.page(after="", limit=5, matches=lambda _: False) == ([], False)
