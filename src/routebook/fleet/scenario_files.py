"""Scenarios that come with Routebook, by name, and others by their file."""

from importlib.resources import files
from pathlib import Path

from routebook.errors import UsageError
from routebook.fleet.scenario import Scenario, parse_scenario

_FOLDER = files("routebook.fleet") / "scenarios"


def shipped_names() -> list[str]:
    """What there is."""
    return sorted(entry.name.removesuffix(".toml") for entry in _FOLDER.iterdir() if entry.name.endswith(".toml"))


def load_scenario(name: str) -> Scenario:
    """One that is shipped, or a file. Raises UsageError."""
    if name in shipped_names():
        return parse_scenario((_FOLDER / f"{name}.toml").read_text(encoding="utf-8"), name=name)
    path = Path(name).expanduser()
    if path.suffix != ".toml":
        raise UsageError(f"no scenario {name!r}: there are {', '.join(shipped_names())}, or give a .toml file")
    try:
        return parse_scenario(path.read_text(encoding="utf-8"), name=str(path))
    except OSError as error:
        raise UsageError(f"scenario {path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise UsageError(f"scenario {path} is not UTF-8") from None
