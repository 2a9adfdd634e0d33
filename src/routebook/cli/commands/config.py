"""`routebook config get|set`: the NameServers' settings, each server's own."""

from typing import Annotated, Final

from routebook.cli.all_nameservers import at_all, complain_of, exit_code, refuse, report
from routebook.cli.nameservers import NameServers
from routebook.cli.output import EXIT_NO, Json, complain, print_json, print_table, say
from routebook.cli.parameters import Argument, Command
from routebook.client.client import OneNameServer
from routebook.errors import UsageError


def get(
    keys: Annotated[list[str] | None, Argument("[KEY]...", "Only these; exit code 1 where one is not there.")] = None,
    *,
    servers: NameServers,
    as_json: Json = False,
) -> int:
    """The settings of every NameServer."""
    done = at_all(servers, OneNameServer.settings)
    wanted = {
        name: {key: value for key, value in sorted(found.items()) if not keys or key in keys}
        for name, found in done.answers.items()
    }
    if as_json:
        print_json(wanted)
    elif len(wanted) == 1:
        for key, value in next(iter(wanted.values())).items():
            say(f"{key}={value}")
    elif wanted:
        every = sorted({key for found in wanted.values() for key in found})
        print_table(["SETTING", *wanted], [[key, *(found.get(key, "") for found in wanted.values())] for key in every])
    complain_of(done)
    missing = [(name, key) for name, found in wanted.items() for key in keys or () if key not in found]
    for name, key in missing:
        complain(f"{name}: no setting {key}")
    return exit_code(done) or (EXIT_NO if missing else 0)


def set_(
    changes: Annotated[list[str], Argument("KEY=VALUE...", "What to change.")],
    *,
    servers: NameServers,
    as_json: Json = False,
) -> int:
    """Change settings at every NameServer, and look whether they were taken: Java ignores what it does not know."""
    wanted = dict(map(_parse, changes))

    async def do(server: OneNameServer) -> str:
        remark = await server.update_settings(wanted)
        now = await server.settings()
        ignored = [key for key, value in wanted.items() if not _same(now.get(key), value)]
        if ignored:
            shown = ", ".join(f"{key} is {now[key]}" if key in now else f"{key} is no setting" for key in ignored)
            raise refuse(server, remark or f"not taken: {shown}")
        return ", ".join(f"{key}={now[key]}" for key in wanted)

    return report(at_all(servers, do), as_json=as_json)


def _parse(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key.strip() and equals):
        raise UsageError(f"{text}: not KEY=VALUE, as in orderMessageEnable=true")
    return key.strip(), value.strip()


def _same(now: str | None, wanted: str) -> bool:
    return now is not None and now.strip().lower() == wanted.lower()  # Java shows TRUE as true


COMMANDS: Final[dict[str, Command]] = {"get": get, "set": set_}
