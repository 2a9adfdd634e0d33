"""`routebook serve`: runs a NameServer in the foreground."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from routebook.cli.framework import command, flag, option, options_as
from routebook.cli.output import EXIT_OK, print_error
from routebook.errors import SettingsError
from routebook.server.observe.log import configure, escape
from routebook.server.state.atomic_file import remove_leftovers
from routebook.server.state.home import Home, default_home
from routebook.server.state.startup_files import load_settings
from routebook.settings import Settings, listing
from routebook.settings.table import HTTP_LISTEN, LISTEN, PRODUCT_NAMESRV_ADDR

_AUTH_ADVICE: Final = "set routebook.auth.file to require authentication"
_SETTINGS: Final = "Settings"
_LOGGING: Final = "Logging"


class ServeOptions(msgspec.Struct, frozen=True):
    """Options of `serve`, which `up` takes as well."""

    listen: str | None
    http: str | None
    home: Path | None
    cold: bool
    config_file: Path | None
    print_config_item: bool
    namesrv_addr: str | None
    define: tuple[str, ...]
    log_format: str | None
    log_level: str | None

    def home_folder(self) -> Path:
        """Return the home folder: the option, else ROUTEBOOK_HOME, else the default."""
        return self.home.expanduser() if self.home is not None else default_home(os.environ)

    def settings(self) -> list[tuple[str, str, str]]:
        """Return the settings given on the command line, each as key, value and origin."""
        given = [(*_parse_definition(text), "-D") for text in self.define]
        named = (
            (LISTEN, self.listen, "--listen"),
            (HTTP_LISTEN, self.http, "--http"),
            (PRODUCT_NAMESRV_ADDR, self.namesrv_addr, "-n"),
            ("routebook.logFormat", self.log_format, "--log-format"),
            ("routebook.logLevel", self.log_level, "--log-level"),
        )
        return given + [(key, value, origin) for key, value, origin in named if value is not None]


# The options of mqnamesrv keep their long names.
_OPTIONS: Final = (
    option("--listen", metavar="HOST:PORT", help="NameServer address; port 0 takes a free port [127.0.0.1:9876]."),
    option("--http", metavar="HOST:PORT|off", help="HTTP address, or off [127.0.0.1:8876]."),
    option("--home", type=Path, metavar="DIR", help="Folder of all state [ROUTEBOOK_HOME, or ~/.routebook]."),
    flag("--cold", help="Start with empty tables, like Java, instead of the last known routes."),
    option(
        "-c",
        "--configFile",
        "config_file",
        type=Path,
        metavar="FILE",
        heading=_SETTINGS,
        help="A .properties file with Java's keys [namesrv.properties in the home folder, if it exists].",
    ),
    option(
        "-D",
        "define",
        metavar="KEY=VALUE",
        multiple=True,
        heading=_SETTINGS,
        help="A setting, or one of Java's -D options; repeatable.",
    ),
    flag(
        "-p",
        "--printConfigItem",
        "print_config_item",
        heading=_SETTINGS,
        help="Print all settings and their origin, and exit.",
    ),
    option(
        "-n",
        "--namesrvAddr",
        "namesrv_addr",
        metavar="LIST",
        heading=_SETTINGS,
        help="NameServers of the product environment, HOST:PORT[;HOST:PORT] (clusterTest only).",
    ),
    option("--log-format", metavar="FORMAT", heading=_LOGGING, help="Format of log lines: text or json [text]."),
    option(
        "--log-level", metavar="LEVEL", heading=_LOGGING, help="Minimum level: debug, info, warning or error [info]."
    ),
)


serve_options = options_as(ServeOptions, "options", _OPTIONS)


@command("serve")
@serve_options
def serve(*, options: ServeOptions) -> int:
    """Run a NameServer in the foreground until SIGTERM or SIGINT."""
    return run_server(options)


def run_server(options: ServeOptions) -> int:
    """Run a NameServer, or print its settings; return the exit code."""
    home = options.home_folder()
    settings = load_settings(home=home, file=options.config_file, environ=os.environ, options=options.settings())
    warnings = [*settings.warnings, *_exposure(settings)]
    if options.print_config_item:
        for warning in warnings:
            print_error(warning)
        for line in listing(settings):
            print(escape(line, max_chars=4096))
        return EXIT_OK
    colour = sys.stderr.isatty() and not os.environ.get("NO_COLOR")
    configure(form=settings.log_format, level=settings.log_level, stream=sys.stderr, colour=colour)
    with Home.open(home) as opened:
        from routebook.server.run import run

        remove_leftovers(Path(settings.config_store_path))
        return run(settings, opened, warnings=warnings, cold=options.cold)


def _parse_definition(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not (key.strip() and equals):
        raise SettingsError(f"-D {text}: not KEY=VALUE, such as -D listenPort=9876")
    return key.strip(), value


def _exposure(settings: Settings) -> Iterable[str]:
    """Warn about ports that other machines can reach without authentication, with the setting that prevents it."""
    if settings.auth_file is not None:
        return
    if settings.listens_publicly:
        yield (
            f"bindAddress={settings.bind_address}: every machine that reaches this port can change routes and "
            f"settings; {_AUTH_ADVICE}, or bindAddress=127.0.0.1 to accept local connections only"
        )
    if settings.serves_http_publicly:
        yield (
            f"{HTTP_LISTEN}={settings.values[HTTP_LISTEN]}: every machine that reaches this port can read all routes; "
            f"{_AUTH_ADVICE}, or {HTTP_LISTEN}=127.0.0.1:8876 to accept local connections only"
        )
