"""All steps of a computation, run at once."""

from routebook.steps import Steps, finish


def _computation(seen: list[int]) -> Steps[str]:
    first = yield
    second = yield
    seen += [first, second]
    return "done"


def test_every_step_receives_the_time() -> None:
    seen = list[int]()
    assert finish(_computation(seen), now_ms=7) == "done"
    assert seen == [7, 7]
