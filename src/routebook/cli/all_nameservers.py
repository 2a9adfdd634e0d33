"""Runs an operation on every NameServer: KV, settings, permissions and deletions are local to each of them."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from routebook.cli.nameservers import NameServerOptions
from routebook.cli.output import EXIT_NO, EXIT_OK, EXIT_UNREACHABLE, error_text, print_error, print_json, print_line
from routebook.client.client import Everywhere, OneNameServer
from routebook.errors import ConnectionFailed, RequestError, RoutebookError

T = TypeVar("T")


def run_on_all(servers: NameServerOptions, do: Callable[[OneNameServer], Awaitable[T]]) -> Everywhere[T]:
    """Run `do` on every NameServer at once; return results and failures in the order of the list."""

    async def work() -> Everywhere[T]:
        async with servers.client_of(servers.addresses()) as client:
            done = await client.everywhere(do)
            order = [str(address) for address in client.addresses]
        return Everywhere(
            {name: done.answers[name] for name in order if name in done.answers},
            {name: done.failures[name] for name in order if name in done.failures},
        )

    return asyncio.run(work())


def change_on_all(servers: NameServerOptions, do: Callable[[OneNameServer], Awaitable[str]], *, as_json: bool) -> int:
    """Run `do` on every NameServer, print the result of each and return the exit code."""
    done = run_on_all(servers, do)
    if as_json:
        results: dict[str, dict[str, object]] = {}
        for name, text in done.answers.items():
            results[name] = {"ok": True, "result": text}
        for name, error in done.failures.items():
            results[name] = {"ok": False, "error": error_text(error)}
        print_json(results)
    else:
        for name, text in done.answers.items():
            print_line(f"{name}: {text}")
    return report_failures(done)


def report_failures(done: Everywhere[T]) -> int:
    """Print one line for each failure; return 3 if one is unreachable, else 1 if one failed, else 0."""
    for error in done.failures.values():
        print_error(error_text(error))
    if any(isinstance(error, ConnectionFailed) for error in done.failures.values()):
        return EXIT_UNREACHABLE
    return EXIT_NO if done.failures else EXIT_OK


def rejection(server: OneNameServer, why: str) -> RoutebookError:
    """The error for a request that a NameServer accepts without performing it."""
    error = RequestError(why)
    error.address = str(server.address)
    return error
