"""KV, settings, permissions and deletions belong to each NameServer by itself: done at all of them, told for each."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from routebook.cli.nameservers import NameServers, run
from routebook.cli.output import EXIT_FINE, EXIT_NO, EXIT_UNREACHABLE, complain, explain, print_json, say
from routebook.client.client import Everywhere, OneNameServer
from routebook.errors import ConnectionFailed, RequestError, RoutebookError

T = TypeVar("T")


def at_all(servers: NameServers, do: Callable[[OneNameServer], Awaitable[T]]) -> Everywhere[T]:
    """Do it at every NameServer of the list, and keep their order."""

    async def work() -> Everywhere[T]:
        async with servers.client() as client:
            done = await client.everywhere(do)
            order = [str(address) for address in client.addresses]
        return Everywhere(
            {name: done.answers[name] for name in order if name in done.answers},
            {name: done.failures[name] for name in order if name in done.failures},
        )

    return run(work())


def report(done: Everywhere[str], *, as_json: bool) -> int:
    """Say for each NameServer what was done or why not; the exit code."""
    if as_json:
        told: dict[str, dict[str, object]] = {}
        for name, text in done.answers.items():
            told[name] = {"ok": True, "result": text}
        for name, error in done.failures.items():
            told[name] = {"ok": False, "error": explain(error)}
        print_json(told)
    else:
        for name, text in done.answers.items():
            say(f"{name}: {text}")
    complain_of(done)
    return exit_code(done)


def complain_of(done: Everywhere[T]) -> None:
    """One line for each that failed."""
    for error in done.failures.values():
        complain(explain(error))


def exit_code(done: Everywhere[T]) -> int:
    """3 where one could not be reached, else 1 where one said no."""
    if any(isinstance(error, ConnectionFailed) for error in done.failures.values()):
        return EXIT_UNREACHABLE
    return EXIT_NO if done.failures else EXIT_FINE


def refuse(server: OneNameServer, why: str) -> RoutebookError:
    """The error for what a NameServer takes without a word and does not do."""
    error = RequestError(why)
    error.address = str(server.address)
    return error
