"""`routebook kv get|put|delete|list`: the NameServers' own key-value store."""

import sys
from typing import Annotated, Final, TypeAlias

from routebook.cli.all_nameservers import at_all, report
from routebook.cli.nameservers import NameServers, run
from routebook.cli.output import EXIT_FINE, Json, print_json, print_table, printable
from routebook.cli.parameters import Argument, Command
from routebook.client.client import NameServerClient, OneNameServer

Namespace: TypeAlias = Annotated[str, Argument("NAMESPACE", "As in ORDER_TOPIC_CONFIG.")]
Key: TypeAlias = Annotated[str, Argument("KEY", "The key.")]


def get(namespace: Namespace, key: Key, *, servers: NameServers, as_json: Json = False) -> int:
    """One value, from the first NameServer that answers. Exit code 1 where there is none."""

    async def ask(client: NameServerClient) -> str:
        async with client:
            return await client.get_kv(namespace, key)

    value = run(ask(servers.client()))
    if as_json:
        print_json({"namespace": namespace, "key": key, "value": value})
    else:
        print(printable(value) if sys.stdout.isatty() else value)
    return EXIT_FINE


def put(
    namespace: Namespace,
    key: Key,
    value: Annotated[str, Argument("VALUE", "The value.")],
    *,
    servers: NameServers,
    as_json: Json = False,
) -> int:
    """Set one value at every NameServer."""

    async def do(server: OneNameServer) -> str:
        await server.put_kv(namespace, key, value)
        return f"{namespace}/{key} is {value}"

    return report(at_all(servers, do), as_json=as_json)


def delete(namespace: Namespace, key: Key, *, servers: NameServers, as_json: Json = False) -> int:
    """Remove one value at every NameServer; fine where there is none."""

    async def do(server: OneNameServer) -> str:
        await server.delete_kv(namespace, key)
        return f"{namespace}/{key} is gone"

    return report(at_all(servers, do), as_json=as_json)


def list_(namespace: Namespace, *, servers: NameServers, as_json: Json = False) -> int:
    """All values of a namespace, from the first NameServer that answers. Exit code 1 where it never had one."""

    async def ask(client: NameServerClient) -> dict[str, str]:
        async with client:
            return await client.list_kv(namespace)

    table = dict(sorted(run(ask(servers.client())).items()))
    if as_json:
        print_json(table)
    elif table:
        print_table(["KEY", "VALUE"], table.items())
    return EXIT_FINE


COMMANDS: Final[dict[str, Command]] = {"get": get, "put": put, "delete": delete, "list": list_}
