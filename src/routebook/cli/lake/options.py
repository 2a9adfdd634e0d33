"""Options of the lake commands: where the lake and the journals are, and which Spark to use."""

import os
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from routebook.cli.framework import all_of, option
from routebook.errors import UsageError
from routebook.lake.config import default_lake
from routebook.lake.paths import Place, check_journal
from routebook.server.state.home import default_home

if TYPE_CHECKING:
    from routebook.lake.read.reader import Lake

_MEMORY_MB: Final = 2048  # for queries
_SPARK: Final = "Spark"

_LOCATION: Final = (
    option(
        "--lake", metavar="PATH", help="Folder of the lake, or a lake.toml [HOME/lake.toml if it exists, or HOME/lake]."
    ),
    option("--home", type=Path, metavar="DIR", help="Home folder of the server [ROUTEBOOK_HOME, or ~/.routebook]."),
)
_BUILD: Final = (
    option(
        "--master",
        metavar="URL",
        heading=_SPARK,
        help="local[4], spark://…, k8s://… or yarn [all cores of this machine].",
    ),
    option("--conf", metavar="KEY=VALUE", multiple=True, heading=_SPARK, help="A Spark setting; repeatable."),
    option(
        "--jars",
        metavar="PATH",
        multiple=True,
        heading=_SPARK,
        help="Iceberg jars, instead of a download from Maven; repeatable.",
    ),
)
_JOURNAL: Final = option(
    "-j",
    "--journal",
    "journals",
    metavar="PATH",
    multiple=True,
    help="A journal folder, an archive (s3://…), or the HTTP port of a server; repeatable [HOME/journal].",
)


as_of_option = option("--as-of", metavar="TIME|BUILD", help="The tables as published at this time or by this build.")


class BuildOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Options of the commands that run Spark."""

    lake: str
    journals: list[str]
    master: str | None
    conf: dict[str, str]
    jars: list[str]


def location_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --lake and --home; the command receives the location as `lake`."""

    @wraps(function)
    def call(*, lake: str | None, home: Path | None, **values: Any) -> Any:
        return function(lake=lake or str(default_lake(_home(home))), **values)

    return all_of(_LOCATION, call)


def open_for_reading(lake: str) -> "Lake":
    """Open the lake of a folder or a lake.toml, without a JVM."""
    from routebook.lake.read.open import open_lake

    return open_lake(lake, memory_mb=_MEMORY_MB)


def build_options(*, with_journals: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the options of a command that runs Spark; the command receives them as `options`."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def call(
            *,
            lake: str | None,
            home: Path | None,
            master: str | None,
            conf: tuple[str, ...],
            jars: tuple[str, ...],
            journals: tuple[str, ...] = (),
            **values: Any,
        ) -> Any:
            settings = dict(map(_parse_setting, conf))
            if with_journals and not journals:
                journals = (str(_home(home) / "journal"),)
            for jar in jars:
                place = Place(jar)
                if place.local is not None and not place.local.is_file():
                    raise UsageError(f"--jars {jar}: no such file")
            for one in journals:
                check_journal(Place(one))
            options = BuildOptions(
                lake=lake or str(default_lake(_home(home))),
                journals=list(journals),
                master=master,
                conf=settings,
                jars=list(jars),
            )
            return function(options=options, **values)

        return all_of((*((_JOURNAL,) if with_journals else ()), *_LOCATION, *_BUILD), call)

    return decorate


def _home(given: Path | None) -> Path:
    return (given or default_home(os.environ)).expanduser()


def _parse_setting(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise UsageError(f"--conf {text}: not KEY=VALUE")
    return key.strip(), value
