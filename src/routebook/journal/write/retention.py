"""Which segments have been kept for long enough. Pure."""

from collections.abc import Mapping, Sequence

from routebook.journal.segments import Segment
from routebook.journal.write.options import JournalOptions


def expired(
    segments: Sequence[Segment], sizes: Mapping[str, int], *, now_ms: int, options: JournalOptions
) -> list[Segment]:
    """The oldest rolled segments that are past their age or beyond the total size.

    Always the oldest, without a gap, and never one that is not rolled: the journal stays one piece.
    """
    total = sum(sizes.values())
    before_ms = now_ms - options.retain_age_s * 1000
    gone: list[Segment] = []
    for segment in segments:
        if segment.span is None or (segment.span.latest_ms >= before_ms and total <= options.retain_bytes):
            break
        gone.append(segment)
        total -= sizes.get(segment.name, 0)
    return gone
