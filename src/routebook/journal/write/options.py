"""Journal options: commit interval, segment size, retention, queue limits and retry delays."""

import msgspec

MIB = 1024 * 1024


class JournalOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The defaults suit a fleet of hundreds of brokers."""

    commit_ms: int = 50  # group commit: how long a record waits for others
    segment_bytes: int = 16 * MIB  # small enough to search a rolled segment quickly
    segment_age_s: int = 6 * 3600
    retain_age_s: int = 30 * 86_400
    retain_bytes: int = 2048 * MIB
    audit_retain_age_s: int = 3650 * 86_400  # audit records that outlive the journal
    audit_retain_bytes: int = 256 * MIB
    batch_bytes: int = MIB  # this much is written without waiting for commit_ms
    queue_records: int = 65_536  # limit of records not yet on disk; beyond it, records are dropped and counted
    queue_bytes: int = 64 * MIB
    retry_first_s: float = 0.1  # after a failed write; doubled each time up to retry_last_s
    retry_last_s: float = 10.0
