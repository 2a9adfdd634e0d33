"""Counters of one ingest pass."""

import msgspec


class Counts(msgspec.Struct, kw_only=True):
    """Lines of one pass: `read == events + duplicates + quarantined + conflicts`.

    Damaged files are counted separately.
    """

    read: int = 0
    events: int = 0
    duplicates: int = 0
    quarantined: int = 0
    conflicts: int = 0
    other_version: int = 0
    damaged_files: int = 0
    segments: int = 0

    def add(self, other: "Counts") -> None:
        for name in self.__struct_fields__:
            setattr(self, name, getattr(self, name) + getattr(other, name))
