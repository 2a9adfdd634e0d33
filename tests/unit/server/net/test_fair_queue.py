"""Hosts take turns, whatever each of them queues."""

from routebook.server.net.fair_queue import FairQueue


def test_hosts_take_turns() -> None:
    queue = FairQueue[str]()
    for number in range(100):
        queue.add("greedy", f"g{number}")
    queue.add("modest", "m0")
    queue.add("other", "o0")
    queue.add("modest", "m1")
    assert [queue.pop() for _ in range(6)] == ["g0", "m0", "o0", "g1", "m1", "g2"]
    assert len(queue) == 97
    queue.add("other", "o1")
    assert [queue.pop() for _ in range(2)] == ["g3", "o1"]
