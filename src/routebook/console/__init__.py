"""The console's files as browsers get them; their source stands in console/ at the root of the repository."""

from pathlib import Path
from typing import Final

ASSETS: Final = Path(__file__).with_name("assets")
