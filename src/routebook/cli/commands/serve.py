"""`routebook serve`: the NameServer, in the foreground until it is told to stop.

Its options are parsed by the standard library; `routebook.cli` says why.
"""

import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from routebook.errors import SettingsError
from routebook.server.observe.log import configure, escape
from routebook.server.state.atomic_file import remove_leftovers
from routebook.server.state.home import Home, default_home
from routebook.server.state.startup_files import load_settings
from routebook.settings import Settings, listing
from routebook.settings.table import HTTP_LISTEN, LISTEN, PRODUCT_NAMESRV_ADDR

_CLOSES: Final = "routebook.auth.file lets in only whom it names"


def serve(args: Sequence[str]) -> int:
    """Run a NameServer, or print its settings; the exit code."""
    options = _parser().parse_args(args)
    home = options.home.expanduser() if options.home is not None else default_home(os.environ)
    settings = load_settings(
        home=home, file=options.config_file, environ=os.environ, options=[*_defined(options), *_named(options)]
    )
    warnings = [*settings.warnings, *_exposure(settings)]
    if options.print_config_item:
        _print(settings, warnings)
        return 0
    colour = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    configure(form=settings.log_format, level=settings.log_level, stream=sys.stderr, colour=colour)
    with Home.open(home) as opened:
        from routebook.server.run import run

        remove_leftovers(Path(settings.config_store_path))
        return run(settings, opened, warnings=warnings, cold=options.cold)


def _parser() -> ArgumentParser:
    """Options of our own, and those of mqnamesrv with their long names."""
    parser = ArgumentParser(prog="routebook serve", description="Run a NameServer.", allow_abbrev=False)
    option = parser.add_argument
    option("--listen", metavar="HOST:PORT", help="where to listen; port 0 takes a free one [127.0.0.1:9876]")
    option("--http", metavar="HOST:PORT|off", help="where to serve HTTP, or not at all [127.0.0.1:8876]")
    option("--home", metavar="DIR", type=Path, help="where all state is kept [ROUTEBOOK_HOME, or ~/.routebook]")
    option("--cold", action="store_true", help="begin with empty tables, like Java, whatever is remembered")
    option(
        *("-c", "--configFile"),
        metavar="FILE",
        type=Path,
        dest="config_file",
        help="settings, as a .properties file with Java's keys [namesrv.properties in the home folder, if it is there]",
    )
    option(
        *("-p", "--printConfigItem"),
        action="store_true",
        dest="print_config_item",
        help="print all settings and where they come from, and exit",
    )
    option(
        *("-n", "--namesrvAddr"),
        metavar="LIST",
        dest="namesrv_addr",
        help="the product environment's NameServers, HOST:PORT[;HOST:PORT] (clusterTest only)",
    )
    option(
        "-D",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        dest="define",
        help="one setting, or one of Java's -D options; repeatable",
    )
    option("--log-format", metavar="text|json", help="what log lines look like [text]")
    option("--log-level", metavar="debug|info|warning|error", help="what is logged at all [info]")
    return parser


def _defined(options: Namespace) -> Iterable[tuple[str, str, str]]:
    for text in options.define:
        key, equals, value = text.partition("=")
        if not (key.strip() and equals):
            raise SettingsError(f"-D {text}: not KEY=VALUE, as in -D listenPort=9876")
        yield key.strip(), value, "-D"


def _named(options: Namespace) -> Iterable[tuple[str, str, str]]:
    """The options that are short for a setting."""
    named = (
        (LISTEN, options.listen, "--listen"),
        (HTTP_LISTEN, options.http, "--http"),
        (PRODUCT_NAMESRV_ADDR, options.namesrv_addr, "-n"),
        ("routebook.logFormat", options.log_format, "--log-format"),
        ("routebook.logLevel", options.log_level, "--log-level"),
    )
    return ((key, value, origin) for key, value, origin in named if value is not None)


def _exposure(settings: Settings) -> list[str]:
    """A port that others can reach lets them read or change routes: say so, and what closes it."""
    if settings.auth_file is not None:
        return []  # both ports ask who it is
    said = []
    if settings.listens_publicly:
        reachable = (
            f"bindAddress={settings.bind_address}: everybody who reaches this port can change routes and settings"
        )
        said.append(f"{reachable}; {_CLOSES}, bindAddress=127.0.0.1 closes it to other machines")
    if settings.serves_http_publicly:
        readable = f"{HTTP_LISTEN}={settings.values[HTTP_LISTEN]}: everybody who reaches this port can read all routes"
        said.append(f"{readable}; {_CLOSES}, {HTTP_LISTEN}=127.0.0.1:8876 closes it to other machines")
    return said


def _print(settings: Settings, warnings: Iterable[str]) -> None:
    for warning in warnings:
        print(f"routebook: {escape(warning)}", file=sys.stderr)
    try:
        for line in listing(settings):
            print(escape(line, max_chars=4096))
        sys.stdout.flush()
    except BrokenPipeError:  # `| head`: the reader has seen enough, and nothing is left to say at exit either
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
