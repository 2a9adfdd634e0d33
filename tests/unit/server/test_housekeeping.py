"""Scheduled work goes on after a round that failed."""

import asyncio
from types import SimpleNamespace
from typing import cast

from routebook.server.housekeeping import Housekeeping
from routebook.server.net.shared import Shared


def test_a_failed_round_is_noted_and_the_next_one_comes() -> None:
    failures: list[tuple[str, str]] = []

    async def play() -> int:
        event_log = SimpleNamespace(task_failed=lambda name, error: failures.append((name, str(error))))
        housekeeping = Housekeeping(
            cast("Shared", SimpleNamespace(recording=SimpleNamespace(event_log=event_log))), port=1
        )
        rounds, enough = 0, asyncio.Event()

        def work() -> None:
            nonlocal rounds
            rounds += 1
            if rounds == 3:
                enough.set()
            if rounds < 3:
                raise ValueError(f"round {rounds}")

        housekeeping._every("work", work, first_s=0, then_s=0)
        await asyncio.wait_for(enough.wait(), 20)
        housekeeping.stop()
        after = rounds
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert rounds == after
        return rounds

    assert asyncio.run(play()) >= 3
    assert failures == [("work", "round 1"), ("work", "round 2")]
