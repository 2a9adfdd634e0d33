"""The loop thread rejects work after it is closed."""

import pytest

from routebook.testing.loop_thread import LoopThread


def test_a_closed_thread_rejects_work() -> None:
    thread = LoopThread("short")
    thread.close()
    thread.close()
    with pytest.raises(RuntimeError, match="stopped"):
        thread.call(list)
