"""`routebook kv get|put|delete|list`: the key-value store of NameServers."""

import sys
from collections.abc import Callable
from typing import Any

from routebook.cli.all_nameservers import change_on_all
from routebook.cli.framework import Group, argument
from routebook.cli.nameservers import NameServerOptions, nameserver_options
from routebook.cli.output import EXIT_OK, json_option, print_json, print_table, printable
from routebook.client.client import OneNameServer

kv = Group("kv", help="Read and write the key-value store of NameServers.")

_namespace = argument("namespace", help="A namespace such as ORDER_TOPIC_CONFIG.")


def _key(function: Callable[..., Any]) -> Callable[..., Any]:
    return _namespace(argument("key", help="The key.")(function))


@kv.command("get")
@_key
@json_option
@nameserver_options
def get(*, namespace: str, key: str, as_json: bool, servers: NameServerOptions) -> int:
    """Print a value, read from the first NameServer that responds.

    The exit code is 1 if there is none.
    """
    value = servers.query(lambda client: client.get_kv(namespace, key))
    if as_json:
        print_json({"namespace": namespace, "key": key, "value": value})
    else:
        print(printable(value) if sys.stdout.isatty() else value)
    return EXIT_OK


@kv.command("put")
@_key
@argument("value", help="The value.")
@json_option
@nameserver_options
def put(*, namespace: str, key: str, value: str, as_json: bool, servers: NameServerOptions) -> int:
    """Set a value on every NameServer."""

    async def do(server: OneNameServer) -> str:
        await server.put_kv(namespace, key, value)
        return f"{namespace}/{key} is {value}"

    return change_on_all(servers, do, as_json=as_json)


@kv.command("delete")
@_key
@json_option
@nameserver_options
def delete(*, namespace: str, key: str, as_json: bool, servers: NameServerOptions) -> int:
    """Delete a value on every NameServer; a missing value is not an error."""

    async def do(server: OneNameServer) -> str:
        await server.delete_kv(namespace, key)
        return f"{namespace}/{key} is deleted"

    return change_on_all(servers, do, as_json=as_json)


@kv.command("list")
@_namespace
@json_option
@nameserver_options
def list_values(*, namespace: str, as_json: bool, servers: NameServerOptions) -> int:
    """List the values of a namespace, read from the first NameServer that responds.

    The exit code is 1 if the namespace never had a value.
    """
    table = dict(sorted(servers.query(lambda client: client.list_kv(namespace)).items()))
    if as_json:
        print_json(table)
    elif table:
        print_table(["KEY", "VALUE"], table.items())
    return EXIT_OK
