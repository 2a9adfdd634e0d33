"""The table of all settings, in the order in which they are listed."""

from typing import Final

from routebook.settings.java_settings import JAVA_SETTINGS
from routebook.settings.routebook_settings import ROUTEBOOK_SETTINGS

SETTINGS: Final = (*JAVA_SETTINGS, *ROUTEBOOK_SETTINGS)
BY_KEY: Final = {setting.key: setting for setting in SETTINGS}
BY_ENV: Final = {setting.env: setting for setting in SETTINGS}

LISTEN: Final = "routebook.listen"  # short for bindAddress and listenPort: HOST:PORT
LISTEN_ENV: Final = "ROUTEBOOK_LISTEN"
HTTP_LISTEN: Final = "routebook.http.listen"
PRODUCT_NAMESRV_ADDR: Final = "routebook.productNamesrvAddr"
