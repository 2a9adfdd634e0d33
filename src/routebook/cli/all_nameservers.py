"""Runs an operation on every NameServer: KV, settings, permissions and deletions are local to each of them."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from routebook.cli.nameservers import NameServerOptions
from routebook.cli.output import EXIT_NO, EXIT_OK, EXIT_UNREACHABLE, error_text, print_error, print_json, print_line
from routebook.client.client import Everywhere, OneNameServer
from routebook.errors import ConnectionFailed, RequestError, RoutebookError

T = TypeVar("T")


def run_on_all(servers: NameServerOptions, do: Callable[[OneNameServer], Awaitable[T]]) -> Everywhere[T]:
    """Run `do` on every NameServer at once; return results and failures in the order of the list."""
    return servers.query(lambda client: client.everywhere(do))


def change_on_all(servers: NameServerOptions, do: Callable[[OneNameServer], Awaitable[str]], *, as_json: bool) -> int:
    """Run `do` on every NameServer, print the result of each and return the exit code."""
    done = run_on_all(servers, do)
    if as_json:
        results = {name: {"ok": True, "result": text} for name, text in done.answers.items()}
        failures = {name: {"ok": False, "error": error_text(error)} for name, error in done.failures.items()}
        print_json({**results, **failures})
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
