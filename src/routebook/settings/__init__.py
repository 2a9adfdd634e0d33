"""Settings: Java's and Routebook's keys, from files, environment and options; 319 reads and 318 changes them."""

from routebook.settings.current import (
    ExpiryProtectionSettings,
    JournalSettings,
    LimitSettings,
    Settings,
    SettingsUpdate,
    TlsSettings,
    TotalSettings,
)
from routebook.settings.listing import listing
from routebook.settings.setting import How, Setting
from routebook.settings.sources import Source, from_environment, from_file, from_options, from_tls_file, from_values
from routebook.settings.table import SETTINGS

__all__ = [
    "SETTINGS",
    "ExpiryProtectionSettings",
    "How",
    "JournalSettings",
    "LimitSettings",
    "Setting",
    "Settings",
    "SettingsUpdate",
    "Source",
    "TlsSettings",
    "TotalSettings",
    "from_environment",
    "from_file",
    "from_options",
    "from_tls_file",
    "from_values",
    "listing",
]
