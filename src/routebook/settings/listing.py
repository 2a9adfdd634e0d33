"""Lists all settings with their values, as `-p` prints them."""

from collections.abc import Iterator

from routebook.settings.current import Settings
from routebook.settings.setting import Setting, show
from routebook.settings.table import SETTINGS


def listing(settings: Settings) -> Iterator[str]:
    """Every setting as `key=value`, Java's first and in Java's order; a comment names the origin of a value."""
    last: str | None = None
    for setting in SETTINGS:
        origin = settings.origins.get(setting.key)
        if origin is not None and origin != last:
            yield f"# {origin}"
        elif origin is None and last is not None:
            yield "# default"
        last = origin
        yield f"{setting.key}={_shown(setting, settings)}"
    if settings.foreign:
        yield "# unknown keys of the file; 319 shows them"
        yield from (f"{key}={value}" for key, value in settings.foreign.items())


def _shown(setting: Setting, settings: Settings) -> str:
    value = show(settings.values[setting.key])
    return "***" if setting.is_secret and value else value
