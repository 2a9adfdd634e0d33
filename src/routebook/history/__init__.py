"""Any past route in a moment: an index over the journal in one SQLite file, made from the journal and nothing else.

feeding   Feeder: a thread that follows the journal           the server
history   History: route_at, brokers_at, timeline             whoever asks
offline   open_offline: the same without a server             the command line
answers   what they answer                                    docs/history.md
"""

from typing import Final

INDEX_NAME: Final = "history.db"  # in the home folder
