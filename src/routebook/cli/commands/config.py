"""`routebook config get|set`: the settings of each NameServer."""

from routebook.cli.all_nameservers import change_on_all, rejection, report_failures, run_on_all
from routebook.cli.framework import Group, argument
from routebook.cli.nameservers import NameServerOptions, nameserver_options
from routebook.cli.output import EXIT_NO, EXIT_OK, json_option, print_error, print_json, print_line, print_table
from routebook.client.client import OneNameServer
from routebook.errors import UsageError

config = Group("config", help="Read and change the settings of NameServers.")


@config.command("get")
@argument("keys", metavar="[KEY]...", nargs=-1, help="Only these settings.")
@json_option
@nameserver_options
def get(*, keys: tuple[str, ...], as_json: bool, servers: NameServerOptions) -> int:
    """Print the settings of every NameServer.

    The exit code is 1 if a given setting does not exist.
    """
    done = run_on_all(servers, OneNameServer.settings)
    wanted = {
        name: {key: value for key, value in sorted(found.items()) if not keys or key in keys}
        for name, found in done.answers.items()
    }
    if as_json:
        print_json(wanted)
    elif len(wanted) == 1:
        for key, value in next(iter(wanted.values())).items():
            print_line(f"{key}={value}")
    elif wanted:
        every = sorted({key for found in wanted.values() for key in found})
        print_table(["SETTING", *wanted], [[key, *(found.get(key, "") for found in wanted.values())] for key in every])
    exit_code = report_failures(done)
    missing = [(name, key) for name, found in wanted.items() for key in keys if key not in found]
    for name, key in missing:
        print_error(f"{name}: no setting {key}")
    return exit_code or (EXIT_NO if missing else EXIT_OK)


@config.command("set")
@argument("changes", metavar="KEY=VALUE...", nargs=-1, required=True, help="The settings to change.")
@json_option
@nameserver_options
def set_values(*, changes: tuple[str, ...], as_json: bool, servers: NameServerOptions) -> int:
    """Change settings of every NameServer and verify the result: Java ignores unknown settings."""
    wanted = dict(map(_parse, changes))

    async def do(server: OneNameServer) -> str:
        remark = await server.update_settings(wanted)
        now = await server.settings()
        ignored = [key for key, value in wanted.items() if not _is_same(now.get(key), value)]
        if ignored:
            shown = ", ".join(f"{key} is {now[key]}" if key in now else f"{key} is not a setting" for key in ignored)
            raise rejection(server, remark or f"not changed: {shown}")
        return ", ".join(f"{key}={now[key]}" for key in wanted)

    return change_on_all(servers, do, as_json=as_json)


def _parse(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key.strip() and equals):
        raise UsageError(f"{text}: not KEY=VALUE, such as orderMessageEnable=true")
    return key.strip(), value.strip()


def _is_same(now: str | None, wanted: str) -> bool:
    return now is not None and now.strip().lower() == wanted.lower()  # Java shows TRUE as true
