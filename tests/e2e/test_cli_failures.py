"""Every command against peers that are not NameServers: one line on stderr, exit code 3, within the timeout."""

import asyncio
import ssl
import time
from pathlib import Path

import pytest

from tests.support.asynchronous import asynchronous
from tests.support.certificates import Authority
from tests.support.command_line import CommandResult, routebook
from tests.support.free_ports import free_port
from tests.support.scripted_nameserver import Conversation, Script, ScriptedNameServer, never_answer

TIMEOUT_S = 5.0
SHORT_S = 0.3  # for those that answer nothing
COMMANDS = [
    "route t",
    "topics",
    "topics --cluster c",
    "topics -l",
    "brokers",
    "clusters",
    "kv get n k",
    "kv put n k v",
    "kv delete n k",
    "kv list n",
    "config get",
    "config set a=b",
    "broker wipe b",
    "broker restore b",
    "broker members b",
    "broker version b",
    "topic delete t",
    "topic register t --broker b",
    "topic order t",
    "topic order t b:1",
    "doctor",
]


async def garbage(conversation: Conversation) -> None:
    await conversation.request()
    conversation.write(b"\x7f\xff\xff\xff\x00\x01" * 20)
    await conversation.closed_by_client()


async def http(conversation: Conversation) -> None:
    conversation.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
    await conversation.closed_by_client()


async def nonsense(conversation: Conversation) -> None:
    """The protocol, but no answers of a NameServer."""
    while True:
        conversation.answer(await conversation.request(), b"[1,2", ext={"value": "v"})


async def close(conversation: Conversation) -> None:
    await conversation.request()


async def run_in_time(*args: str, timeout_s: float = TIMEOUT_S) -> CommandResult:
    """Beside the stranger, which lives in this loop."""
    began = time.monotonic()
    ran = await asyncio.to_thread(routebook, *args, "--timeout", f"{timeout_s:g}")
    took_s = time.monotonic() - began
    assert took_s < 2 * timeout_s + 60, "the command ignored its timeout"
    return ran


def assert_unreachable(ran: CommandResult, address: str, why: str) -> None:
    assert ran.code == 3, ran
    assert ran.out == "", ran
    assert ran.err.startswith(f"routebook: {address}: "), ran
    assert why in ran.err, ran
    assert ran.err.count("\n") == 1, ran


@pytest.mark.parametrize("line", COMMANDS)
def test_a_closed_port(line: str) -> None:
    address = f"127.0.0.1:{free_port()}"
    ran = routebook(*line.split(), "-n", address)
    assert_unreachable(ran, address, "refused the connection")


@pytest.mark.parametrize("line", COMMANDS)
@pytest.mark.parametrize(
    ("script", "why"),
    [
        (never_answer, "did not answer within"),
        (garbage, "does not speak RocketMQ's remoting protocol"),
        (http, "answers HTTP, so this is a web server's port"),
        (close, "closed the connection"),
    ],
)
@asynchronous
async def test_a_peer_that_is_not_a_nameserver(line: str, script: Script, why: str) -> None:
    async with ScriptedNameServer(script) as server:
        timeout_s = SHORT_S if script is never_answer else TIMEOUT_S
        ran = await run_in_time(*line.split(), "-n", server.address, timeout_s=timeout_s)
    assert_unreachable(ran, server.address, why)


@pytest.mark.parametrize("line", ["route t", "topics", "brokers", "clusters", "kv list n", "topics -l"])
@asynchronous
async def test_invalid_responses(line: str) -> None:
    async with ScriptedNameServer(nonsense) as server:
        ran = await run_in_time(*line.split(), "-n", server.address)
    assert_unreachable(ran, server.address, "sent an invalid response")


def tls_only(tmp_path: Path) -> tuple[ssl.SSLContext, Path]:
    authority = Authority()
    cert, key = authority.issue("localhost", cert=tmp_path / "cert.pem", key=tmp_path / "key.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    return context, authority.write(tmp_path / "ca.pem")


async def one_topic(conversation: Conversation) -> None:
    while True:
        conversation.answer(await conversation.request(), b'{"topicList":["t"]}')


@asynchronous
async def test_a_port_with_tls_only(tmp_path: Path) -> None:
    context, ca = tls_only(tmp_path)
    async with ScriptedNameServer(one_topic, tls=context) as server:
        for line in COMMANDS:
            ran = await run_in_time(*line.split(), "-n", server.address)
            assert_unreachable(ran, server.address, "TLS")
        trusted = await run_in_time("topics", "-n", server.address, "--tls-ca", str(ca))
        assert trusted == CommandResult(0, "t\n", "")
        insecure = await run_in_time("topics", "-n", server.address, "--tls-insecure")
        assert insecure == CommandResult(0, "t\n", "")
        untrusted = await run_in_time("topics", "-n", server.address, "--tls")
        assert_unreachable(untrusted, server.address, "certificate that is not trusted")


@asynchronous
async def test_tls_to_a_port_without_tls() -> None:
    async with ScriptedNameServer(never_answer) as server:
        ran = await run_in_time("topics", "-n", server.address, "--tls-insecure", timeout_s=SHORT_S)
    assert ran.code == 3
    assert ran.err.count("\n") == 1


@asynchronous
async def test_the_next_address_of_the_list_is_tried() -> None:
    async with ScriptedNameServer(one_topic) as server:
        ran = await run_in_time("topics", "-n", f"127.0.0.1:{free_port()};{server.address}")
    assert ran == CommandResult(0, "t\n", "")


@asynchronous
async def test_one_line_lists_all_failed_addresses() -> None:
    dead, dead_too = free_port(), free_port()
    ran = await run_in_time("topics", "-n", f"127.0.0.1:{dead};127.0.0.1:{dead_too}")
    assert ran.code == 3
    assert ran.err.count("\n") == 1
    assert f"127.0.0.1:{dead}: refused" in ran.err
    assert f"127.0.0.1:{dead_too}: refused" in ran.err


@asynchronous
async def test_requests_are_signed_if_keys_are_given() -> None:
    fields: list[dict[str, str]] = []

    async def remember(conversation: Conversation) -> None:
        while True:
            request = await conversation.request()
            fields.append(request.ext)
            conversation.answer(request, b'{"topicList":[]}')

    keys = {"ROCKETMQ_ACCESS_KEY": "me", "ROCKETMQ_SECRET_KEY": "secret"}
    async with ScriptedNameServer(remember) as server:
        for environment, args in ((keys, []), ({}, ["--access-key", "me", "--secret-key", "secret"])):
            ran = await asyncio.to_thread(routebook, "topics", "-n", server.address, *args, environment=environment)
            assert ran.code == 0
    for field in fields:
        assert field["AccessKey"] == "me"
        assert len(field["Signature"]) == 28
    assert fields[0]["RoutebookStamp"] != fields[1]["RoutebookStamp"]  # valid once


@asynchronous
async def test_diff_with_one_unreachable_nameserver() -> None:
    async def empty(conversation: Conversation) -> None:
        while True:
            conversation.answer(await conversation.request(), b"{}")

    dead = f"127.0.0.1:{free_port()}"
    async with ScriptedNameServer(empty) as first, ScriptedNameServer(empty) as second:
        ran = await run_in_time("diff", first.address, dead)
        assert_unreachable(ran, dead, "refused the connection")
        ran = await run_in_time("diff", first.address, dead, second.address)
        assert ran.code == 3
        assert ran.out == "2 NameServers agree: all are empty\n"
        assert ran.err == f"routebook: {dead}: refused the connection: nothing listens there\n"


def test_a_closed_pipe_is_not_an_error() -> None:
    import os
    import subprocess
    import sys

    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as closed:
        command = [sys.executable, "-m", "routebook", "--help"]
        ran = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, text=True, check=False)
    assert ran.stderr == ""
