"""Decides which steps a refresh runs: those whose events or upstream tables have changed.

A table is a function of the events of its kinds and of the tables that its step reads. New events that follow all known
events of their NameServer do not change the time of those, so a step without changes would compute the rows that the
table already has.
"""

from collections.abc import Sequence

from routebook.lake.build.step import ALL_KINDS, Inputs, Progress, Step
from routebook.lake.build.window import Window
from routebook.lake.tables.silver import OBSERVED


class Affected:
    """The changes of one refresh so far."""

    def __init__(self, windows: Sequence[Window], *, all_steps: bool) -> None:
        news = [window.news for window in windows]
        self._all_steps = all_steps or any(one.is_late for one in news)
        self._kinds = {kind for one in news for kind in one.kinds}
        self._is_start = any(one.is_start for one in news)
        self._is_new_day = any(one.is_new_day for one in news)
        self._tables: set[str] = set()

    def includes(self, step: Step, inputs: Inputs) -> bool:
        """Whether the step must run. If so, the steps that read its table must run as well."""
        kinds = self._kinds if step.kinds == ALL_KINDS else self._kinds & set(step.kinds)
        changes = kinds | {name for name in step.reads if self._has_changed(name, step)}
        affected = (
            self._all_steps or not changes <= set(step.open_only) or (len(changes) > 0 and inputs.replaces_rows())
        )
        if affected:
            self._tables.add(step.table.name)
        return affected

    def _has_changed(self, name: str, step: Step) -> bool:
        if name != OBSERVED.name or self._is_start or step.progress is Progress.ANY:
            return name in self._tables
        return step.progress is Progress.DAY and self._is_new_day
