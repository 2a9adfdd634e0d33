"""All build steps, in dependency order."""

from typing import Final

from routebook.lake.build.gold import (
    admin_audit,
    broker_availability_daily,
    broker_flaps,
    broker_sessions,
    convergence,
    detector_tradeoff,
    elections,
    heartbeat_quality,
    lookup_demand,
    ns_divergence,
    outage_impact,
    route_timeline,
    sync_state,
    topic_placement,
)
from routebook.lake.build.silver import (
    broker_spans,
    differences,
    lookup_hours,
    observed,
    protections,
    topic_spans,
)
from routebook.lake.build.step import Step

STEPS: Final[tuple[Step, ...]] = (
    observed.STEP,
    broker_spans.STEP,
    protections.STEP,
    broker_sessions.STEP,
    topic_spans.STEP,
    lookup_hours.STEP,
    outage_impact.STEP,
    broker_availability_daily.STEP,
    broker_flaps.STEP,
    heartbeat_quality.STEP,
    detector_tradeoff.STEP,
    route_timeline.STEP,
    topic_placement.STEP,
    differences.STEP,
    ns_divergence.STEP,
    convergence.STEP,
    lookup_demand.STEP,
    admin_audit.STEP,
    elections.STEP,
    sync_state.STEP,
)
