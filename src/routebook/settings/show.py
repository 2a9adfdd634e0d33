"""Settings for people: what `-p` prints, and the table in docs/settings.md."""

from collections.abc import Iterator

from routebook.settings.current import Settings
from routebook.settings.table import JAVA_OPTIONS, LISTEN, LISTEN_ENV, SETTINGS, Group, Setting, show

_HEADINGS = {
    Group.NAMESRV: "Java's NamesrvConfig",
    Group.SERVER: "Java's NettyServerConfig",
    Group.CLIENT: "Java's NettyClientConfig",
    Group.ROUTEBOOK: "Routebook's own",
}


def listing(settings: Settings) -> Iterator[str]:
    """Every setting as `key=value`, Java's in Java's order first; a comment above says where a value is from."""
    origin = None
    for setting in SETTINGS:
        came_from = settings.origins.get(setting.key)
        if came_from is not None and came_from != origin:
            yield f"# {came_from}"
        elif came_from is None and origin is not None:
            yield "# default"
        origin = came_from
        yield f"{setting.key}={_shown(setting, settings)}"
    if settings.foreign:
        yield "# not settings, shown by 319 as they stand in the file"
        yield from (f"{key}={value}" for key, value in settings.foreign.items())


def markdown() -> str:
    """docs/settings.md."""
    return "\n".join(_document()) + "\n"


def _shown(setting: Setting, settings: Settings) -> str:
    value = show(settings.values[setting.key])
    return "***" if setting.secret and value else value


def _document() -> Iterator[str]:
    yield "# Settings"
    yield ""
    yield "<!-- Made by routebook.settings.markdown(); tests/unit/test_settings_show.py says how to make it again. -->"
    yield ""
    yield "One model, four sources, later wins: defaults; a file (`-c FILE`, or `namesrv.properties` in the home"
    yield "folder); environment variables; options (`-D KEY=VALUE`, and short ones such as `--listen`). The file is"
    yield "Java's own `.properties` with Java's keys, and Routebook's keys stand in the same file. `routebook serve -p`"
    yield "prints all of them and where each came from."
    yield ""
    yield f"`{LISTEN}` (`{LISTEN_ENV}`, `--listen`) is short for `bindAddress` and `listenPort`: `HOST:PORT`, or"
    yield "`[::1]:9876` for IPv6."
    yield ""
    yield "An unknown key that begins with `routebook.`, or a value that does not parse, stops the start with the line"
    yield "and the nearest known name. An unknown key of Java's is kept, shown by 319 as Java does, and warned of."
    for group in Group:
        yield from ("", f"## {_HEADINGS[group]}", "")
        yield "| key | environment | values | default | takes effect | what it does |"
        yield "|---|---|---|---|---|---|"
        for setting in SETTINGS:
            if setting.group is group:
                yield _row(setting)
    yield from ("", "## Java's JVM options", "")
    yield "`-D` takes these too; those that begin with `tls.` may also stand in the file that"
    yield "`routebook.tls.configFile` names."
    yield ""
    yield "| Java | here |"
    yield "|---|---|"
    yield from (f"| `{java}` | `{key}` |" for java, key in JAVA_OPTIONS.items())


def _row(setting: Setting) -> str:
    default = show(setting.default)
    cells = (
        f"`{setting.key}`",
        f"`{setting.env}`",
        setting.type.says,
        f"`{default}`" if default else "",
        setting.how.value,
        setting.note,
    )
    return f"| {' | '.join(cells)} |"
