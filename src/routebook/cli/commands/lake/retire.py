"""`routebook lake retire`: marks a broker as decommissioned, so that its last outage does not count."""

import getpass
from datetime import UTC, datetime

from routebook.cli.framework import argument, command, option
from routebook.cli.lake.options import BuildOptions, build_options
from routebook.cli.lake.session import open_pipeline
from routebook.cli.output import EXIT_NO, EXIT_OK, json_option, print_error, print_json, print_line


@command("retire")
@argument("broker", metavar="BROKER", help="Name of the broker group.")
@option("--cluster", metavar="NAME", help="Only in this cluster [any].")
@option("--id", "broker_id", type=int, metavar="ID", help="Only the broker with this id [all of the group].")
@option("--why", metavar="TEXT", help="Reason, stored with the mark.")
@option("--undo", is_flag=True, help="Remove the marks: the outages count again.")
@build_options(with_journals=False)
@json_option
def retire(
    *,
    broker: str,
    cluster: str | None,
    broker_id: int | None,
    why: str | None,
    undo: bool,
    options: BuildOptions,
    as_json: bool,
) -> int:
    """Mark a broker that is down as decommissioned.

    Its current outage counts no longer, in all tables and reports. The mark is stored in meta.retired and stays when
    tables are rebuilt. The exit code is 1 if the lake has no open outage of the broker, or with --undo no mark.
    """
    with open_pipeline(options, "retire", quiet=as_json) as pipeline:
        from routebook.lake.build.retire import Mark

        mark = Mark(
            broker=broker,
            cluster=cluster,
            broker_id=broker_id,
            retired_at=datetime.now(UTC),
            who=getpass.getuser(),
            why=why,
        )
        nameservers = pipeline.retire(mark, undo=undo)
    where = ", ".join(nameservers)
    if as_json:
        print_json({"broker": broker, "retired": bool(nameservers) and not undo, "nameservers": nameservers})
    elif nameservers and undo:
        print_line(f"{broker} is not retired any more: its outages count again at {where}")
    elif nameservers:
        print_line(f"{broker} is retired: its outage counts no longer at {where}")
    elif undo:
        print_error(f"{broker}: the lake has no mark of this broker; the table meta.retired lists all marks")
    else:
        print_error(f"{broker}: the lake has no open outage of this broker; stop it first, then build the lake")
    return EXIT_OK if nameservers else EXIT_NO
