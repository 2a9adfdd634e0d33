"""`routebook controller import`: takes over the broker sets of a running Controller."""

import asyncio
import os
from pathlib import Path

from routebook.cli.framework import command, option
from routebook.cli.nameservers import NameServerOptions, nameserver_options
from routebook.cli.output import EXIT_NO, EXIT_OK, print_line
from routebook.controller.state import BrokerSet
from routebook.server.controller.import_sets import fetch, store
from routebook.server.controller.node import ControllerNode
from routebook.server.state.home import Home, default_home
from routebook.server.state.startup_files import load_settings


@command("import")
@option("--from", "source", required=True, metavar="HOST:PORT", help="The leader of the running Controller.")
@option("--home", type=Path, metavar="DIR", help="Folder of all state [ROUTEBOOK_HOME, or ~/.routebook].")
@option(
    "-c",
    "--configFile",
    "config_file",
    type=Path,
    metavar="FILE",
    required=True,
    help="The .properties file of the new Controller.",
)
@nameserver_options
def import_sets(*, source: str, home: Path | None, config_file: Path, servers: NameServerOptions) -> int:
    """Copy the broker sets of a running Controller, Java's or Routebook's, into one that does not run yet.

    Reads the names of the sets from the NameServer. Then stop the former Controller and start the new one at its
    address: brokers keep their ids and roles. The exit code is 1 if it finds no set.
    """
    folder = home.expanduser() if home is not None else default_home(os.environ)
    settings = load_settings(home=folder, file=config_file, environ=os.environ, is_controller=True)

    async def work() -> list[BrokerSet]:
        async with servers.client_of(source) as controller, servers.client_of(servers.addresses()) as nameserver:
            sets = await fetch(controller, nameserver)
        if sets:
            await store(ControllerNode.open(settings).log, sets)
        return sets

    with Home.open(folder):
        sets = asyncio.run(work())
    for one in sets:
        master = "no master" if one.master_id is None else f"master {one.master_id}"
        print_line(f"{one.name}: {len(one.replicas)} replicas, {master}, epoch {one.master_epoch}")
    return EXIT_OK if sets else EXIT_NO
