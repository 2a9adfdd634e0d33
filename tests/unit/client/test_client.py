"""The client over real sockets: failover, pipelining, reconnection, timeouts, and peers that are not NameServers."""

import asyncio
import subprocess
import sys

import pytest

import routebook.client
from routebook.client import Credentials, NameServerClient
from routebook.client.requests import Request, read_topics
from routebook.codes import RequestCode
from routebook.errors import (
    BadRequest,
    Busy,
    ConnectionFailed,
    Denied,
    Disabled,
    GoingAway,
    NotANameServer,
    NotFound,
    NotReady,
    RequestError,
    TimedOut,
    TopicNotExist,
    Unreachable,
    Unsupported,
    UsageError,
)
from routebook.wire.command import Command
from tests.support.asynchronous import asynchronous
from tests.support.free_ports import free_port
from tests.support.scripted_nameserver import (
    Conversation,
    ScriptedNameServer,
    answer_all,
    never_answer,
)

TOPIC_LIST = Request(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, read_topics)
TOPICS = b'{"topicList":["t"]}'


@asynchronous
async def test_responses_are_matched_by_opaque_in_any_order() -> None:
    async def backwards(conversation: Conversation) -> None:
        requests = [await conversation.request() for _ in range(20)]
        for request in reversed(requests):
            conversation.answer(request, ext={"value": request.ext["key"] * 2})
        await conversation.closed_by_client()

    async with ScriptedNameServer(backwards) as server, NameServerClient(server.address) as client:
        values = await asyncio.gather(*(client.get_kv("ns", f"k{number}") for number in range(20)))

    assert values == [f"k{number}" * 2 for number in range(20)]
    assert server.connections == 1


@asynchronous
async def test_failover_to_the_next_address() -> None:
    async def once(conversation: Conversation) -> None:
        conversation.answer(await conversation.request(), TOPICS)

    async with (
        ScriptedNameServer(once) as first,
        ScriptedNameServer(answer_all) as second,
        NameServerClient([first.address, second.address], shuffle=False) as client,
    ):
        await client.topics()
        assert str(client.chosen) == first.address
        await first.stop_listening()
        for _ in range(3):
            assert await client.topics() == ["t"]
        assert str(client.chosen) == second.address
    assert (first.connections, second.connections) == (1, 1)


@pytest.mark.parametrize("silent_first", [True, False])
@asynchronous
async def test_a_call_tries_every_address_once(silent_first: bool) -> None:
    dead = f"127.0.0.1:{free_port()}"
    async with ScriptedNameServer(never_answer) as silent, ScriptedNameServer(answer_all) as good:
        bad = [silent.address, dead] if silent_first else [dead, silent.address]
        async with NameServerClient([*bad, good.address], shuffle=False, timeout_s=0.9) as client:
            assert await client.topics() == ["t"]
            assert str(client.chosen) == good.address
    assert silent.connections == 1


@asynchronous
async def test_if_all_addresses_fail_the_error_lists_each_failure() -> None:
    dead = [f"127.0.0.1:{free_port()}" for _ in range(2)]
    async with NameServerClient(dead, shuffle=False) as client:
        with pytest.raises(Unreachable) as refused:
            await client.topics()
    assert all(f"{address}: refused the connection" in str(refused.value) for address in dead)

    async with (
        ScriptedNameServer(never_answer) as silent,
        NameServerClient([dead[0], silent.address], shuffle=False, timeout_s=0.2) as client,
    ):
        with pytest.raises(ConnectionFailed, match=r"refused.*did not answer within") as mixed:
            await client.topics()
    assert type(mixed.value) is ConnectionFailed


@asynchronous
async def test_a_closed_connection_is_reopened() -> None:
    async def one_each(conversation: Conversation) -> None:
        conversation.answer(await conversation.request(), TOPICS)
        await conversation.request()  # takes the next request along when it closes

    async with ScriptedNameServer(one_each) as server, NameServerClient(server.address) as client:
        for _ in range(3):
            assert await client.topics() == ["t"]
    assert server.connections == 3


@asynchronous
async def test_a_new_connection_that_closes_at_once_is_not_tried_again() -> None:
    async def slam(conversation: Conversation) -> None:
        await conversation.request()
        conversation.reset()

    async with ScriptedNameServer(slam) as server, NameServerClient(server.address) as client:
        with pytest.raises(Unreachable, match="closed the connection without a response; it may require TLS"):
            await client.topics()
    assert server.connections == 1


@asynchronous
async def test_go_away_is_followed_over_a_new_connection() -> None:
    async def leaving(conversation: Conversation) -> None:
        conversation.answer(await conversation.request(), TOPICS)
        request = await conversation.request()
        if conversation.number == 1:
            conversation.answer(request, code=1500, remark="please go away")
        else:
            conversation.answer(request, TOPICS)
        await conversation.closed_by_client()

    async with ScriptedNameServer(leaving) as server, NameServerClient(server.address) as client:
        for _ in range(3):
            assert await client.topics() == ["t"]
    assert server.connections == 2


@asynchronous
async def test_repeated_go_away_leads_to_the_next_address() -> None:
    async def away(conversation: Conversation) -> None:
        while True:
            conversation.answer(await conversation.request(), code=1500, remark="please go away")

    async with ScriptedNameServer(away) as leaving, ScriptedNameServer(answer_all) as good:
        async with NameServerClient([leaving.address, good.address], shuffle=False) as client:
            assert await client.topics() == ["t"]
            assert str(client.chosen) == good.address
        async with NameServerClient(leaving.address) as client:
            with pytest.raises(GoingAway, match="please go away"):
                await client.topics()


@asynchronous
async def test_pending_requests_complete_on_a_retired_connection() -> None:
    both = asyncio.Event()

    async def leaving(conversation: Conversation) -> None:
        if conversation.number > 1:
            return await answer_all(conversation)
        conversation.answer(await conversation.request(), TOPICS)
        slow, sent_away = await conversation.request(), await conversation.request()
        conversation.answer(sent_away, code=1500)
        await both.wait()
        conversation.answer(slow, b'{"topicList":["slow"]}')
        await conversation.closed_by_client()
        return None

    async with ScriptedNameServer(leaving) as server, NameServerClient(server.address) as client:
        await client.topics()
        slow = asyncio.create_task(client.topics())
        await asyncio.sleep(0)
        assert await client.topics() == ["t"]
        both.set()
        assert await slow == ["slow"]
    assert server.connections == 2


@asynchronous
async def test_a_late_response_is_ignored() -> None:
    late = asyncio.Event()

    async def tardy(conversation: Conversation) -> None:
        first, second = await conversation.request(), await conversation.request()
        conversation.answer(second, b'{"topicList":["second"]}')
        await late.wait()
        conversation.answer(first, b'{"topicList":["first"]}')
        conversation.answer(await conversation.request(), b'{"topicList":["third"]}')
        await conversation.closed_by_client()

    async with ScriptedNameServer(tardy) as server, NameServerClient(server.address) as client:
        first = asyncio.create_task(client.ask(TOPIC_LIST, timeout_s=0.3))
        await asyncio.sleep(0)
        assert await client.topics() == ["second"]
        with pytest.raises(TimedOut):
            await first
        late.set()
        assert await client.topics() == ["third"]
    assert server.connections == 1  # it was not silent, so it was not closed


@asynchronous
async def test_a_silent_connection_is_closed_and_replaced() -> None:
    async def silent_first(conversation: Conversation) -> None:
        await (never_answer if conversation.number == 1 else answer_all)(conversation)

    async with ScriptedNameServer(silent_first) as server, NameServerClient(server.address) as client:
        with pytest.raises(TimedOut, match=r"did not answer within 0\.[12]\d* s"):
            await client.ask(TOPIC_LIST, timeout_s=0.2)
        assert await client.topics() == ["t"]
    assert server.connections == 2


@asynchronous
async def test_a_server_that_does_not_read_is_a_timeout() -> None:
    async def deaf(_conversation: Conversation) -> None:
        await asyncio.Event().wait()

    command = Command(code=RequestCode.REGISTER_TOPIC_IN_NAMESRV, opaque=0, body=bytes(15 * 1024 * 1024))
    async with ScriptedNameServer(deaf) as server, NameServerClient(server.address) as client:
        with pytest.raises(TimedOut):
            await client.call(command, timeout_s=0.3)


@asynchronous
async def test_cancelling_one_caller_does_not_cancel_the_shared_connection_attempt() -> None:
    async with ScriptedNameServer(answer_all) as server, NameServerClient(server.address) as client:
        hasty = asyncio.create_task(client.topics())
        patient = asyncio.create_task(client.topics())
        await asyncio.sleep(0)
        hasty.cancel()
        assert await patient == ["t"]
    assert hasty.cancelled()
    assert server.connections == 1


@pytest.mark.parametrize(
    ("said", "named"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "answers HTTP"),
        (b"\x15\x03\x03\x00\x02\x02\x28", "requires TLS"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "speaks SSH"),
        (b"\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03", "speaks HTTP/2"),
        (b"-ERR unknown command\r\n", "it sends '-ERR unknown command'"),
        (b"\xff" * 40, "does not speak RocketMQ's remoting protocol"),
        (b"\x00\x00\x00\x08\x07\x00\x00\x00abcd", "serialize type 7"),
        (b"\x00\x00\x00\x06\x00\x00\x00\x02[]", "does not speak RocketMQ's remoting protocol"),
        (b"\x00\x00\x40\x00\x00", "closed the connection within a frame"),
    ],
)
@asynchronous
async def test_another_protocol_on_the_port(said: bytes, named: str) -> None:
    async def impostor(conversation: Conversation) -> None:
        await conversation.request()
        conversation.write(said)

    async with ScriptedNameServer(impostor) as server, NameServerClient(server.address, timeout_s=5) as client:
        with pytest.raises(NotANameServer) as refused:
            await client.topics()
    assert str(refused.value).startswith(f"{server.address}: ")
    assert named in str(refused.value)
    assert "\n" not in str(refused.value)


@asynchronous
async def test_a_grpc_port_is_recognised_before_it_closes() -> None:
    """Its first frame could pass for the beginning of one of ours, for which the client would wait."""

    async def grpc(conversation: Conversation) -> None:
        conversation.write(b"\x00\x00\x12\x04\x00\x00\x00\x00\x00\x00\x03")
        await conversation.closed_by_client()

    async with ScriptedNameServer(grpc) as server, NameServerClient(server.address, timeout_s=30) as client:
        with pytest.raises(NotANameServer, match="speaks HTTP/2"):
            await client.topics()


@asynchronous
async def test_an_invalid_body_is_an_error() -> None:
    async with (
        ScriptedNameServer(lambda conversation: answer_all(conversation, b"<html>")) as server,
        NameServerClient(server.address) as client,
    ):
        with pytest.raises(NotANameServer, match="the topic list cannot be decoded"):
            await client.topics()


@pytest.mark.parametrize(
    ("code", "remark", "kind"),
    [
        (1, "java.lang.NullPointerException: null", BadRequest),
        (1, None, BadRequest),
        (1, "name server not ready", NotReady),
        (1, "disable", Disabled),
        (2, "[OVERLOAD]system busy, start flow control for a while", Busy),
        (3, " request type 206 not supported", Unsupported),
        (16, "no", Denied),
        (17, "No topic route info", TopicNotExist),
        (22, "No config item", NotFound),
        (2007, "The controller is not in leader state", RequestError),
    ],
)
@asynchronous
async def test_error_responses_raise_the_matching_class(
    code: int, remark: str | None, kind: type[RequestError]
) -> None:
    async def refuse(conversation: Conversation) -> None:
        conversation.answer(await conversation.request(), code=code, remark=remark)
        await conversation.closed_by_client()

    async with ScriptedNameServer(refuse) as server, NameServerClient(server.address) as client:
        with pytest.raises(RequestError) as refused:
            await client.topics()
    error = refused.value
    assert type(error) is kind
    assert (error.code, error.remark, error.address) == (code, remark, server.address)
    assert str(error) == (remark or f"response code {code}").strip()


@asynchronous
async def test_an_error_response_ends_the_call() -> None:
    async def refuse(conversation: Conversation) -> None:
        conversation.answer(await conversation.request(), code=17)
        await conversation.closed_by_client()

    async with (
        ScriptedNameServer(refuse) as first,
        ScriptedNameServer(answer_all) as second,
        NameServerClient([first.address, second.address], shuffle=False) as client,
    ):
        with pytest.raises(TopicNotExist):
            await client.route("t")
    assert second.connections == 0


@asynchronous
async def test_everywhere_separates_results_and_failures() -> None:
    dead = f"127.0.0.1:{free_port()}"
    async with ScriptedNameServer(answer_all) as first, ScriptedNameServer(answer_all) as second:
        async with NameServerClient([first.address, dead, second.address]) as client:
            result = await client.everywhere(lambda server: server.topics())
            assert result.answers == {first.address: ["t"], second.address: ["t"]}
            assert list(result.failures) == [dead]
            with pytest.raises(Unreachable, match=dead):
                result.all()
        async with NameServerClient([first.address, second.address]) as client:
            assert len((await client.everywhere(lambda server: server.topics())).all()) == 2


@asynchronous
async def test_at_uses_one_address_and_keeps_the_chosen_one() -> None:
    async with (
        ScriptedNameServer(answer_all) as first,
        ScriptedNameServer(answer_all) as second,
        NameServerClient([first.address, second.address], shuffle=False) as client,
    ):
        assert await client.at(second.address).topics() == ["t"]
        assert str(client.chosen) == first.address
        with pytest.raises(UsageError, match="not among the addresses"):
            client.at("127.0.0.1:1")
    assert (first.connections, second.connections) == (0, 1)


@asynchronous
async def test_requests_are_signed_and_carry_the_identity() -> None:
    seen = []

    async def note(conversation: Conversation) -> None:
        while True:
            seen.append(request := await conversation.request())
            conversation.answer(request, ext={"value": "v"})

    credentials = Credentials(access_key="ak", secret_key="s")
    async with ScriptedNameServer(note) as server, NameServerClient(server.address, credentials=credentials) as client:
        await client.get_kv("n", "k")
        await client.get_kv("n", "k")
    first, second = seen
    assert first.header["language"] == "PYTHON"
    assert first.header["version"] == 513
    assert {*first.ext} == {"namespace", "key", "AccessKey", "Signature", "RoutebookStamp"}
    assert first.ext["RoutebookStamp"] != second.ext["RoutebookStamp"]  # each is accepted once
    assert first.opaque != second.opaque


@asynchronous
async def test_a_one_way_request_does_not_wait() -> None:
    seen = asyncio.Queue[int]()

    async def listen(conversation: Conversation) -> None:
        request = await conversation.request()
        seen.put_nowait(request.header["flag"])
        await conversation.closed_by_client()

    async with ScriptedNameServer(listen) as server, NameServerClient(server.address) as client:
        await client.heartbeat(cluster="c", broker="b", addr="h:1", oneway=True)
        assert await seen.get() == 2


@asynchronous
async def test_requests_of_the_server_go_to_on_request() -> None:
    got = asyncio.Queue[Command]()

    async def notify(conversation: Conversation) -> None:
        request = await conversation.request()
        header = b'{"code":905,"extFields":{"minBrokerId":"1"},"flag":2,"opaque":4,"version":513}'
        conversation.write((4 + len(header)).to_bytes(4, "big") + len(header).to_bytes(4, "big") + header)
        conversation.answer(request, TOPICS)
        await conversation.closed_by_client()

    async with (
        ScriptedNameServer(notify) as server,
        NameServerClient(server.address, on_request=got.put_nowait) as client,
    ):
        assert await client.topics() == ["t"]
        assert (await got.get()).field("minBrokerId") == "1"


@asynchronous
async def test_closing_the_client_fails_pending_and_later_requests() -> None:
    asked = asyncio.Event()

    async def ponder(conversation: Conversation) -> None:
        conversation.answer(await conversation.request(), TOPICS)
        await conversation.request()
        asked.set()
        await conversation.closed_by_client()

    async with ScriptedNameServer(ponder) as server, ScriptedNameServer(answer_all) as other:
        client = NameServerClient([server.address, other.address], shuffle=False)
        await client.topics()
        waiting = asyncio.create_task(client.topics())
        await asked.wait()
        await client.aclose()
        with pytest.raises(Unreachable, match="closed by this client"):
            await waiting
        with pytest.raises(UsageError, match="this client is closed"):
            await client.topics()
        await client.aclose()
    assert (server.connections, other.connections) == (1, 0)


@asynchronous
async def test_an_incomplete_response_counts_as_silence() -> None:
    async def dribble(conversation: Conversation) -> None:
        if conversation.number > 1:
            return await answer_all(conversation)
        await conversation.request()
        conversation.write(b"\0\0\x10\0\0")
        return await conversation.closed_by_client()

    async with ScriptedNameServer(dribble) as server, NameServerClient(server.address) as client:
        with pytest.raises(TimedOut):
            await client.ask(TOPIC_LIST, timeout_s=0.2)
        assert await client.topics() == ["t"]


@asynchronous
async def test_an_unknown_host_name() -> None:
    async with NameServerClient("no-such-host.invalid:9876") as client:
        with pytest.raises(Unreachable, match="unknown host name"):
            await client.topics()


@pytest.mark.parametrize("name", routebook.client.__all__)
def test_every_exported_name_exists(name: str) -> None:
    assert getattr(routebook.client, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = routebook.client.Nothing


def test_importing_the_client_imports_only_what_a_look_up_needs() -> None:
    look = "import sys; from routebook.client import NameServerClient; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"cryptography", "uvloop", "click", "http", "rich"}
    unused = {f"routebook.client.{part}" for part in ("queues", "watcher", "tls", "registration")}
    core = {"routebook.handlers", "routebook.routes", "routebook.server", "routebook.settings", "routebook.properties"}
    assert not (heavy | unused | core) & {*loaded}
