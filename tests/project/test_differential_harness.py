"""The parts of the differential test without servers: generator, shrinking, comparison."""

from collections.abc import Sequence

from routebook.codes import RequestCode
from tests.support.compare import parse_body, quotes_exception
from tests.support.differential.endpoint import Answer
from tests.support.differential.generate import Generator
from tests.support.differential.judge import same
from tests.support.differential.shrink import shrink
from tests.support.differential.side_by_side import Difference
from tests.support.differential.steps import Ask, Drop, OddRegister, Raw, Register, Step
from tests.support.remoting_frames import Reply, Request, frame

ROUTE = Ask(conn="q", code=105, ext={"topic": "t"})


def reply(body: str, *, remark: str = "", opaque: int = 1) -> Answer:
    remark_field = f'"remark":"{remark}",' if remark else ""
    header = f'{{"code":0,"flag":1,"opaque":{opaque},{remark_field}"version":513}}'
    return Answer(replies=(Reply.parse(frame(header.encode(), body.encode())),))


def test_the_same_seed_draws_the_same_steps() -> None:
    assert Generator(7).steps(500) == Generator(7).steps(500)
    assert Generator(7).steps(500) != Generator(8).steps(500)


def test_every_request_code_and_every_kind_of_step_is_drawn() -> None:
    steps = Generator(1).steps(3000)
    codes = {step.code for step in steps if isinstance(step, (Ask, Register))}
    assert codes >= {code for code in RequestCode if code != RequestCode.NOTIFY_MIN_BROKER_ID_CHANGE}
    assert {type(step) for step in steps} == {Ask, Register, OddRegister, Raw, Drop}
    assert {step.binary for step in steps if isinstance(step, Ask)} == {False, True}
    assert {step.flag for step in steps if isinstance(step, Ask)} == {0, 1, 2, 3}


def test_steps_insert_the_tag_of_the_run_and_keep_their_length() -> None:
    for step in Generator(1).steps(500):
        if not isinstance(step, Drop):
            data = step.data("zz")
            assert len(data) == len(step.data("@@")) or isinstance(
                step, Register
            )  # a compressed body may have another length
            assert isinstance(step, (Raw, OddRegister)) or int.from_bytes(data[:4], "big") == len(data) - 4


def test_shrinking_finds_the_two_steps_that_matter() -> None:
    steps: list[Step] = [Drop(conn=str(number)) for number in range(100)]
    needed = {steps[17], steps[60]}

    def run(candidate: Sequence[Step]) -> Difference | None:
        seen: set[Step] = set()
        for index, step in enumerate(candidate):
            seen.add(step)
            if needed <= seen:
                return Difference(index=index, question=ROUTE, reference=Answer(), subject=Answer())
        return None

    found = run(steps)
    assert found is not None
    shortest, difference = shrink(steps, found, run=run, budget_s=60)
    assert shortest == [steps[17], steps[60]]
    assert difference.index == 1


def test_lists_have_any_order_but_maps_of_the_standard_profile_do_not() -> None:
    assert same(ROUTE, reply('{"a":[1,2]}'), reply('{"a":[2,1]}'))
    assert not same(ROUTE, reply('{"a":[1,2]}'), reply('{"a":[1,1]}'))
    assert not same(ROUTE, reply('{"a":{"0":1,"1":2}}'), reply('{"a":{"1":2,"0":1}}'))
    cluster_info = Ask(conn="q", code=106)
    assert same(cluster_info, reply('{"a":{0:1,1:2}}'), reply('{"a":{1:2,0:1}}'))


def test_the_two_json_profiles_are_distinguished() -> None:
    assert parse_body(b'{0:"a","x{1:":{-2:"b"}}') == {"bare:0": "a", "x{1:": {"bare:-2": "b"}}
    assert not same(Ask(conn="q", code=106), reply('{0:"a"}'), reply('{"0":"a"}'))


def test_only_the_text_of_exceptions_may_differ() -> None:
    exception = "java.lang.NullPointerException: x, a.b.C.d(C.java:1)"
    assert quotes_exception(exception)
    assert not quotes_exception("register broker failed")
    assert same(ROUTE, reply("", remark=exception), reply("", remark="topic is missing"))
    assert not same(ROUTE, reply("", remark=exception), reply(""))
    assert not same(ROUTE, reply("", remark="disable"), reply("", remark="disabled"))


def test_closing_waiting_and_replying_are_different_results() -> None:
    question = Raw(content=Request(code=1).encode(), about="any")
    outcomes = [reply(""), Answer(closed=True), Answer(silent=True), Answer()]
    assert all(same(question, left, right) == (left is right) for left in outcomes for right in outcomes)
