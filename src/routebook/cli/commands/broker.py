"""`routebook broker wipe|restore|members|version`: one broker group at the NameServers."""

from typing import Annotated, Final, TypeAlias

from routebook.cli.all_nameservers import at_all, complain_of, exit_code, refuse, report
from routebook.cli.commands.brokers import role
from routebook.cli.nameservers import NameServers, run
from routebook.cli.output import EXIT_FINE, EXIT_NO, Json, complain, print_json, print_table
from routebook.cli.parameters import Argument, Command, Option
from routebook.client.client import Everywhere, NameServerClient, OneNameServer
from routebook.model import DataVersion, MemberGroup

Name: TypeAlias = Annotated[str, Argument("BROKER", "The name of the broker group.")]


def wipe(name: Name, *, servers: NameServers, as_json: Json = False) -> int:
    """Take a broker's topics out of writing at every NameServer: producers leave it, consumers stay."""

    async def do(server: OneNameServer) -> str:
        count = await server.wipe_write(name)
        return _said(server, name, count, "not writable any more")

    return report(at_all(servers, do), as_json=as_json)


def restore(name: Name, *, servers: NameServers, as_json: Json = False) -> int:
    """Make a broker's topics writable again at every NameServer."""

    async def do(server: OneNameServer) -> str:
        count = await server.restore_write(name)
        return _said(server, name, count, "writable")

    return report(at_all(servers, do), as_json=as_json)


def members(
    name: Name,
    *,
    servers: NameServers,
    cluster: Annotated[str, Option(("--cluster",), "The cluster it is in (whichever it is).", "NAME")] = "",
    as_json: Json = False,
) -> int:
    """The members of a broker group that are alive. Exit code 1 where there is none."""

    async def ask(client: NameServerClient) -> MemberGroup:
        async with client:
            return await client.member_group(cluster, name)

    found = sorted(run(ask(servers.client())).broker_addrs.items())
    if as_json:
        print_json([{"id": number, "role": role(number), "address": addr} for number, addr in found])
    elif found:
        print_table(["ID", "ROLE", "ADDRESS"], [[number, role(number), addr] for number, addr in found])
    if not found:
        complain(f"no member of broker {name} is known")
    return EXIT_FINE if found else EXIT_NO


def version(name: Name, *, servers: NameServers, as_json: Json = False) -> int:
    """The version of each member's topic table at every NameServer. Asking renews the member's lease."""

    async def ask(server: OneNameServer) -> dict[str, DataVersion | None]:
        info = await server.cluster_info()
        group = info.broker_addr_table.get(name)
        if group is None:
            raise refuse(server, f"no broker {name} is known")
        nothing = DataVersion(counter=0, state_version=0, timestamp=0)
        found: dict[str, DataVersion | None] = {}
        for number, addr in sorted(group.broker_addrs.items()):
            check = await server.query_data_version(
                nothing, cluster=group.cluster, broker=name, addr=addr, broker_id=number
            )
            found[addr] = check.version
        return found

    done = at_all(servers, ask)
    _print_versions(done, as_json=as_json)
    complain_of(done)
    return exit_code(done)


def _print_versions(done: Everywhere[dict[str, DataVersion | None]], *, as_json: bool) -> None:
    if as_json:
        print_json(done.answers)
        return
    rows: list[list[object]] = [
        [name, addr, *((version.counter, version.timestamp, version.state_version) if version else ("-", "-", "-"))]
        for name, found in done.answers.items()
        for addr, version in found.items()
    ]
    if rows:
        print_table(["NAMESERVER", "MEMBER", "COUNTER", "TIMESTAMP", "STATE"], rows)


def _said(server: OneNameServer, name: str, count: int, what: str) -> str:
    if count == 0:
        raise refuse(server, f"no topic of a broker {name} is known: nothing changed")
    return f"{count} {'topic' if count == 1 else 'topics'} of {name} {'is' if count == 1 else 'are'} {what}"


COMMANDS: Final[dict[str, Command]] = {"wipe": wipe, "restore": restore, "members": members, "version": version}
