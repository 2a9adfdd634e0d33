"""A node's copy of the sets in etcd, with the revision of each: older versions never replace newer ones. Pure."""

from collections.abc import Iterable

import msgspec

from routebook.controller.state import BrokerSet
from routebook.server.controller.etcd_messages import KeyValue
from routebook.server.controller.log import LogError

_decode = msgspec.json.Decoder(BrokerSet).decode


class Mirror:
    """Revisions of the sets under a prefix. The sets themselves are with the listener of the log."""

    def __init__(self, prefix: bytes) -> None:
        self.prefix = prefix
        self._loaded_at = 0
        self._revisions: dict[str, int] = {}  # of the keys that exist
        self._seen: dict[str, int] = {}  # of every change since the last load, deletions included

    def key(self, name: str) -> bytes:
        return self.prefix + name.encode("utf-8", "surrogatepass")

    def revision(self, name: str) -> int:
        """The revision at which a set's key was last written; 0: it does not exist."""
        return self._revisions.get(name, 0)

    def load(self, rows: Iterable[KeyValue], revision: int) -> dict[str, BrokerSet]:
        """Replace everything by what a read at this revision has found."""
        decoded = {self._name(row.key): (row.mod_revision, self._decode(row.key, row.value)) for row in rows}
        self._loaded_at, self._seen = revision, {}
        self._revisions = {name: mod_revision for name, (mod_revision, _) in decoded.items()}
        return {name: state for name, (_, state) in decoded.items()}

    def take(self, name: str, revision: int, *, exists: bool) -> bool:
        """Note a change; False: it is not newer than what is known."""
        if revision <= max(self._loaded_at, self._seen.get(name, 0)):
            return False
        self._seen[name] = revision
        if exists:
            self._revisions[name] = revision
        else:
            self._revisions.pop(name, None)
        return True

    def take_row(self, row: KeyValue, *, is_deletion: bool) -> tuple[str, BrokerSet | None] | None:
        """A change from the watch; None: it is not newer than what is known."""
        name = self._name(row.key)
        state = None if is_deletion else self._decode(row.key, row.value)
        return (name, state) if self.take(name, row.mod_revision, exists=state is not None) else None

    def _name(self, key: bytes) -> str:
        return key[len(self.prefix) :].decode("utf-8", "surrogatepass")

    @staticmethod
    def _decode(key: bytes, value: bytes) -> BrokerSet:
        try:
            return _decode(value)
        except msgspec.MsgspecError as error:
            shown = key.decode("utf-8", "replace")
            raise LogError(f"etcd key {shown} is not a broker set: {error}; restore a backup or delete it") from None
