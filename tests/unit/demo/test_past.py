"""The simulated past: homes that a NameServer continues, and a moment in which a topic had no broker."""

from pathlib import Path

import msgspec

from routebook.demo import past
from routebook.fleet.scenario import load_scenario


def test_the_homes_hold_journals_that_end_now(tmp_path: Path) -> None:
    live = load_scenario("demo").sized(brokers=4, topics=14)
    done: list[float] = []
    moment = past.simulate_past(tmp_path, live, done.append, days=1)
    assert done
    for number in (1, 2):
        home = past.home_of(tmp_path, number)
        assert msgspec.json.decode((home / "identity.json").read_bytes()) == {"ns": home.name}
        assert any((home / "journal").glob("*.jsonl.zst"))
    assert not (tmp_path / "simulated").exists()
    assert moment is None or moment.topic.startswith("topic-")
