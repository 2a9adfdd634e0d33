"""Settings: Java's keys and Routebook's, from files, environment and options; read by 319, changed by 318."""

from routebook.settings.current import (
    JournalSettings,
    LimitSettings,
    PreservationSettings,
    Settings,
    SettingsUpdate,
    TlsSettings,
)
from routebook.settings.show import listing, markdown
from routebook.settings.sources import Source, from_environment, from_file, from_options, from_tls_file, from_values
from routebook.settings.table import SETTINGS, How, Setting

__all__ = [
    "SETTINGS",
    "How",
    "JournalSettings",
    "LimitSettings",
    "PreservationSettings",
    "Setting",
    "Settings",
    "SettingsUpdate",
    "Source",
    "TlsSettings",
    "from_environment",
    "from_file",
    "from_options",
    "from_tls_file",
    "from_values",
    "listing",
    "markdown",
]
