"""Records what a Controller node does: committed changes, elections without a master, notifications, leadership."""

from collections.abc import Callable, Iterable
from typing import Protocol

import msgspec

from routebook.controller.record import Committed, journal_event, set_state
from routebook.controller.state import BrokerSet
from routebook.controller_events import ControllerLeader, MasterElected, NoMasterElected, RoleNotified
from routebook.events import Event
from routebook.server.controller.config import ControllerConfig


class Records(Protocol):
    """The recorder of the process."""

    def record(
        self,
        events: Iterable[Event],
        *,
        at_ms: int,
        peer: str | None = None,
        code: int | None = None,
        who: str | None = None,
    ) -> int: ...


class TwoClocks(Protocol):
    """The clock of leases and the clock of records."""

    def now_ms(self) -> int: ...

    def wall_ms(self) -> int: ...


class ControllerJournal:
    """Only the leading node commits, so only its journal has a change."""

    def __init__(self, recorder: Records, config: ControllerConfig, clock: TwoClocks) -> None:
        self._recorder = recorder
        self._config = config
        self._clock = clock
        self._lost_at_ms: dict[str, int] = {}
        self._without_master: dict[str, int] = {}  # sets whose failed election is recorded, with their epoch

    def committed(self, change: Committed) -> None:
        """Record a change, or an election that found no master."""
        at_ms, lost_ms = self._clock.wall_ms(), None if change.election is None else change.election.lost_ms
        lost_at_ms = None if lost_ms is None else at_ms - max(0, self._clock.now_ms() - lost_ms)
        event = journal_event(change, lost_at_ms=lost_at_ms)
        if isinstance(event, MasterElected | NoMasterElected):
            event = self._since_loss(event)
        if event is None or (isinstance(event, NoMasterElected) and self._is_repeated(event)):
            return
        origin = change.origin
        self._recorder.record([event], at_ms=at_ms, peer=origin.peer, code=origin.code, who=origin.who)

    def leads(self, leads: bool, sets: Callable[[], Iterable[BrokerSet]]) -> None:
        """Record that this node leads, with the sets as it found them, or that it does not lead any more."""
        node = self._config.node
        found = [set_state(state) for state in sets()] if leads else []
        leader = ControllerLeader(
            controller_group=self._config.group,
            node=node.id,
            addr=node.address,
            leads=leads,
            brokers=tuple(state.broker for state in found),
        )
        self._without_master.clear()
        self._lost_at_ms.clear()
        self._recorder.record([leader, *found], at_ms=self._clock.wall_ms())

    def notified(self, broker: str, address: str, master_epoch: int, why: str | None) -> None:
        """Record that 1008 was sent, or why not."""
        event = RoleNotified(broker=broker, addr=address, master_epoch=master_epoch, why=why)
        self._recorder.record([event], at_ms=self._clock.wall_ms())

    def _since_loss(self, event: MasterElected | NoMasterElected) -> MasterElected | NoMasterElected:
        """A set that lost its master keeps the time of the loss until it has one again."""
        lost_at_ms = event.lost_at_ms or self._lost_at_ms.get(event.broker)
        if isinstance(event, MasterElected):
            self._lost_at_ms.pop(event.broker, None)
        elif lost_at_ms is not None:
            self._lost_at_ms[event.broker] = lost_at_ms
        return msgspec.structs.replace(event, lost_at_ms=lost_at_ms)

    def _is_repeated(self, event: NoMasterElected) -> bool:
        known = self._without_master.get(event.broker)
        self._without_master[event.broker] = event.master_epoch
        return event.before_id is None and known == event.master_epoch
