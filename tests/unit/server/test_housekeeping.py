"""A failed task is logged and scheduled again."""

import asyncio
from types import SimpleNamespace
from typing import cast

from routebook.server.housekeeping import Housekeeping
from routebook.server.net.shared import Shared


def test_a_failed_task_is_logged_and_runs_again() -> None:
    failures: list[tuple[str, str]] = []

    async def play() -> int:
        event_log = SimpleNamespace(task_failed=lambda name, error: failures.append((name, str(error))))
        housekeeping = Housekeeping(
            cast("Shared", SimpleNamespace(recording=SimpleNamespace(event_log=event_log))), port=1
        )
        runs, enough = 0, asyncio.Event()

        def work() -> None:
            nonlocal runs
            runs += 1
            if runs == 3:
                enough.set()
            if runs < 3:
                raise ValueError(f"run {runs}")

        housekeeping._every("work", work, first_s=0, then_s=0)
        await asyncio.wait_for(enough.wait(), 20)
        housekeeping.stop()
        after = runs
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert runs == after
        return runs

    assert asyncio.run(play()) >= 3
    assert failures == [("work", "run 1"), ("work", "run 2")]
