"""How the journal is kept: when it commits, rolls, forgets, and how much it may hold back."""

import msgspec

MIB = 1024 * 1024


class JournalOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The defaults suit a fleet of hundreds of brokers."""

    commit_ms: int = 50  # a record waits so long for others before they go to disk together
    segment_bytes: int = 16 * MIB  # small enough that a rolled segment is searched in a moment
    segment_age_s: int = 6 * 3600
    retain_age_s: int = 30 * 86_400
    retain_bytes: int = 2048 * MIB
    batch_bytes: int = MIB  # so much is written without waiting for commit_ms
    queue_records: int = 65_536  # what is not on disk yet; beyond, records are dropped and counted
    queue_bytes: int = 64 * MIB
    retry_first_s: float = 0.1  # after a failed write, doubled each time up to the last
    retry_last_s: float = 10.0
