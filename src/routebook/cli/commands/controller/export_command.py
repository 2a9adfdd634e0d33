"""`routebook controller export`: recreates broker sets in a Java controller."""

import asyncio

from routebook.cli.framework import command, option
from routebook.cli.nameservers import NameServerOptions, nameserver_options
from routebook.cli.output import EXIT_NO, EXIT_OK, print_line
from routebook.controller.state import BrokerSet
from routebook.server.controller.export_sets import replay
from routebook.server.controller.import_sets import fetch


@command("export")
@option("--from", "source", required=True, metavar="HOST:PORT", help="The leader of the running Controller.")
@option("--to", "target", required=True, metavar="HOST:PORT", help="A running Java controller without sets.")
@nameserver_options
def export_sets(*, source: str, target: str, servers: NameServerOptions) -> int:
    """Recreate the broker sets of a running Controller in a Java controller that has none.

    Reads the names of the sets from the NameServer. Run the Java controller at another address, export, stop both, and
    start the Java controller at the address of the former one. The exit code is 1 if it finds no set.
    """

    async def work() -> list[BrokerSet]:
        async with servers.client_of(source) as controller, servers.client_of(servers.addresses()) as nameserver:
            sets = await fetch(controller, nameserver)
        await replay(lambda: servers.client_of(target), sets)
        return sets

    sets = asyncio.run(work())
    for one in sets:
        print_line(f"{one.name}: {len(one.replicas)} replicas, epoch {one.master_epoch} or higher")
    return EXIT_OK if sets else EXIT_NO
