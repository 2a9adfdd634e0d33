"""`routebook broker wipe|restore|members|version`: one broker group."""

from routebook.cli.all_nameservers import change_on_all, rejection, report_failures, run_on_all
from routebook.cli.commands.brokers import role
from routebook.cli.framework import Group, broker_argument, option
from routebook.cli.nameservers import NameServerOptions, nameserver_options
from routebook.cli.output import EXIT_NO, EXIT_OK, json_option, print_error, print_json, print_table
from routebook.cli.suggestions import did_you_mean
from routebook.client.client import OneNameServer
from routebook.model import DataVersion

broker = Group("broker", help="Change the write permission of a broker; show its members and versions.")

_name = broker_argument(metavar="BROKER", help="Name of the broker group.")


@broker.command("wipe")
@_name
@json_option
@nameserver_options
def wipe(*, name: str, as_json: bool, servers: NameServerOptions) -> int:
    """Remove the write permission of a broker's topics on every NameServer.

    Producers stop using the broker; consumers continue.
    """

    async def do(server: OneNameServer) -> str:
        return await _result(server, name, await server.wipe_write(name), "no longer writable")

    return change_on_all(servers, do, as_json=as_json)


@broker.command("restore")
@_name
@json_option
@nameserver_options
def restore(*, name: str, as_json: bool, servers: NameServerOptions) -> int:
    """Restore the write permission of a broker's topics on every NameServer."""

    async def do(server: OneNameServer) -> str:
        return await _result(server, name, await server.restore_write(name), "writable")

    return change_on_all(servers, do, as_json=as_json)


@broker.command("members")
@_name
@option("--cluster", metavar="NAME", default="", help="Cluster of the broker [any].")
@json_option
@nameserver_options
def members(*, name: str, cluster: str, as_json: bool, servers: NameServerOptions) -> int:
    """List the live members of a broker group.

    The exit code is 1 if there is none.
    """
    group = servers.query(lambda client: client.member_group(cluster, name))
    found = sorted(group.broker_addrs.items())
    if as_json:
        print_json([{"id": number, "role": role(number), "address": addr} for number, addr in found])
    elif found:
        print_table(["ID", "ROLE", "ADDRESS"], [[number, role(number), addr] for number, addr in found])
    if not found:
        print_error(f"broker {name} has no registered member")
    return EXIT_OK if found else EXIT_NO


@broker.command("version")
@_name
@json_option
@nameserver_options
def version(*, name: str, as_json: bool, servers: NameServerOptions) -> int:
    """Show the version of each member's topic table on every NameServer.

    The request renews the member's lease.
    """

    async def ask(server: OneNameServer) -> dict[str, DataVersion | None]:
        info = await server.cluster_info()
        group = info.broker_addr_table.get(name)
        if group is None:
            raise rejection(server, f"broker {name} is unknown{did_you_mean(name, info.broker_addr_table)}")
        nothing = DataVersion(counter=0, state_version=0, timestamp=0)
        found: dict[str, DataVersion | None] = {}
        for number, addr in sorted(group.broker_addrs.items()):
            check = await server.query_data_version(
                nothing, cluster=group.cluster, broker=name, addr=addr, broker_id=number
            )
            found[addr] = check.version
        return found

    done = run_on_all(servers, ask)
    if as_json:
        print_json(done.answers)
    elif rows := [
        [server, addr, *((version.counter, version.timestamp, version.state_version) if version else ("-", "-", "-"))]
        for server, found in done.answers.items()
        for addr, version in found.items()
    ]:
        print_table(["NAMESERVER", "MEMBER", "COUNTER", "TIMESTAMP", "STATE"], rows)
    return report_failures(done)


async def _result(server: OneNameServer, name: str, count: int, state: str) -> str:
    if count == 0:
        known = (await server.cluster_info()).broker_addr_table
        similar = "" if name in known else did_you_mean(name, known)
        raise rejection(server, f"no topic of broker {name} is registered; nothing changed{similar}")
    return f"{count} {'topic' if count == 1 else 'topics'} of {name} {'is' if count == 1 else 'are'} {state}"
