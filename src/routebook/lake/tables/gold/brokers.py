"""Declarations of the gold tables about brokers: sessions, availability, flaps, heartbeats, timeouts, outages."""

from typing import Final

from routebook.lake.tables.table import Layer, RefreshMode, Table

BROKER_SESSIONS: Final = Table(
    name="broker_sessions",
    layer=Layer.GOLD,
    doc="One row per interval in which a broker was registered at a NameServer, with the reason for its end",
    key=("ns", "cluster", "broker", "addr", "from_seq"),
    refresh=RefreshMode.BY_SEQ,
    partition="days(ended_at)",
    interval=("started_at", "ended_at"),
    end_columns=("end_reason", "planned", "duration_s", "last_seen_at"),
    about="""
        A session is an up interval of silver.broker_spans. A role switch does not end a session. A session without an
        end was still open when the data ended. A broker that returns under another address begins a session with that
        address, and keeps its `member`.
    """,
    columns="""
        ns string
        cluster string
        broker string
        broker_id bigint -- Last id of the broker in the session; 0 is the master. | 0
        addr string -- Address of the broker in this session. | 10.0.0.6:10911
        started_at timestamp -- Time of the registration that began the session. | 2026-01-31 10:00:05
        ended_at timestamp -- Time at which the broker left; null while it is registered. | 2026-01-31 12:30:00
        end_reason string
            -- Why the session ended: unregistered, deregistered, closed, idle, expired, replaced, lost or
            -- nameserver_stopped; null while it is open. | closed
        planned boolean
            -- True if the broker unregistered, was deregistered by an operator or was replaced; null while it is open,
            -- and if the broker went while the NameServer was down. | false
        duration_s double -- Length in seconds; null while it is open. | 8995.0
        began string -- How the session began: up, recovered or lost. | up
        role_switches int -- Number of role switches in the session. | 0
        from_seq bigint
        to_seq bigint
        last_seen_at timestamp
            -- Last time at which the broker was certainly alive: `ended_at`, but one lease and one scan (5 s)
            -- earlier if the broker was silent (expired, idle). | 2026-01-31 12:30:00
        member bigint
    """,
)
BROKER_AVAILABILITY_DAILY: Final = Table(
    name="broker_availability_daily",
    layer=Layer.GOLD,
    doc="Availability of each broker per day (UTC) and NameServer, with outages, MTBF and MTTR",
    key=("day", "ns", "cluster", "broker", "broker_id", "addr"),
    refresh=RefreshMode.ALL_BY_DAY,
    partition="day",
    about="""
        A row is one broker (cluster, name and id), whatever its address. An interval that spans midnight counts on both
        days. [How availability is computed](availability.md) draws the cases on time lines.

        - Time in which the NameServer was down, and time before the first registration of the broker, is not observed.
        - Time in which mass-expiry protection kept a silent broker in the routes is `protected_s`: whether the broker
          was up is not known, so it is neither up nor down, and not in `observed_s`.
        - Outages are exactly the rows of gold.outage_impact. A role switch, a move to another address and a change of
          the cluster are not outages.
        - An unplanned outage (`closed`, `idle`, `expired`) is down time until the broker returns, for at most seven
          days. After that the broker counts as removed and is not observed until it registers again.
        - A planned outage is down time, with its whole length, if the broker returns. Until it does, the broker counts
          as decommissioned, and the time is not observed.
        - An outage during which an operator retired the broker does not count.
    """,
    columns="""
        day date
        ns string
        cluster string
        broker string
        addr string -- Address of the broker at the end of the day. | 10.0.0.6:10911
        observed_s double
            -- Seconds in which the NameServer ran and the state of the broker is known: `up_s` plus `down_s`. | 86400.0
        up_s double -- Seconds in which the broker was registered and not protected. | 86370.0
        availability double -- `up_s` divided by `observed_s`: all down time counts. | 0.99965
        outages int -- Unplanned outages that began on the day. | 1
        planned_outages int -- Planned outages that began on the day. | 0
        mtbf_s double -- `up_s` divided by `outages`; null without an outage. | 86370.0
        mttr_s double
            -- Mean length of the unplanned outages that ended on the day, from their detection; null without one. |
            -- 30.0
        down_s double -- Seconds in outages: `planned_down_s` plus `unplanned_down_s`. | 30.0
        planned_down_s double -- Seconds in planned outages. | 0.0
        broker_id bigint -- Id of the broker at the end of the day; 0 is the master. | 0
        member bigint
        unplanned_down_s double -- Seconds in unplanned outages. | 30.0
        protected_s double -- Seconds in which mass-expiry protection kept the silent broker: it is uncertain. | 0.0
        availability_unplanned double
            -- `up_s` divided by `up_s` plus `unplanned_down_s`: planned outages do not count. | 0.99965
    """,
)
BROKER_FLAPS: Final = Table(
    name="broker_flaps",
    layer=Layer.GOLD,
    doc="Intervals in which a broker flapped or was restarted in a loop, and the likely cause: broker or NameServer",
    key=("ns", "cluster", "broker", "member", "window_start"),
    refresh=RefreshMode.ALL_BY_DAY,
    partition="day",
    about="""
        A broker flaps if it went down at least three times, returned within an hour each time, and was never up for
        more than three minutes in between. The interval lasts from the first `broker_down` to the last return. `scope`
        is the likely cause:

        - `broker`: another NameServer saw the same broker flap at the same time, or at most two brokers flapped here.
        - `nameserver`: three or more brokers flapped here, and another NameServer that had this broker did not see it
          flap; or, if no other NameServer had it, at least half of the brokers here flapped.
    """,
    columns="""
        ns string
        cluster string
        broker string
        addr string -- Last address of the broker in the interval. | 10.0.0.6:10911
        window_start timestamp -- Time of the first outage. | 2026-01-31 10:00:05
        window_end timestamp -- Time of the last return within an hour, else of the last outage.
            -- | 2026-01-31 10:04:00
        transitions int -- Number of outages and returns. | 6
        brokers_flapping int -- Brokers, including this one, that flapped at this NameServer at the same time. | 1
        scope string -- Likely cause: broker or nameserver. | broker
        day date -- Day (UTC) on which the interval ended. | 2026-01-31
        from_seq bigint
        broker_id bigint -- Last id of the broker in the interval. | 0
        member bigint
        kind string -- flap (no outage was planned), restart_loop (all were) or mixed. | flap
        outages int -- Number of outages, planned or not. | 3
    """,
)
HEARTBEAT_QUALITY: Final = Table(
    name="heartbeat_quality",
    layer=Layer.GOLD,
    doc="Gaps between the heartbeats of each broker per day (UTC): percentiles and histogram",
    key=("day", "ns", "cluster", "broker", "broker_id", "addr"),
    refresh=RefreshMode.BY_DAY,
    partition="day",
    about="""
        A gap is the time between two heartbeats of a broker that stayed registered; the time from its removal to its
        return is an outage, not a gap. A gap that overlaps an interval of mass-expiry protection is excluded: many
        brokers were silent at the same time, so the NameServer or its network failed, not the broker.
    """,
    columns="""
        day date
        ns string
        cluster string
        broker string
        addr string -- Last address of the broker on the day. | 10.0.0.6:10911
        beats bigint -- Number of heartbeats. | 2880
        gap_p50_ms bigint -- Median gap; its error is at most 1/32. | 29695
        gap_p99_ms bigint -- 99th percentile of the gaps; its error is at most 1/32. | 30719
        gap_max_ms bigint -- Longest gap; null without gaps. | 31002
        gaps map<string, bigint> -- Histogram: the largest gap of the bucket in ms, and the count. | {"30719": 2879}
        broker_id bigint -- Id of the broker at the end of the day; null if the journal has no session of it. | 0
        protected_gaps bigint -- Gaps that overlap mass-expiry protection, which no other column includes. | 0
    """,
)
DETECTOR_TRADEOFF: Final = Table(
    name="detector_tradeoff",
    layer=Layer.GOLD,
    doc="False suspicions and detection time for each candidate heartbeat timeout, and the recommended one",
    key=("ns", "cluster", "detector", "candidate"),
    refresh=RefreshMode.WHOLE,
    about="""
        A NameServer removes a broker that sends no heartbeat for its timeout. A short timeout detects failures fast,
        but also removes brokers that are only late. Both effects are computed from the gaps between heartbeats of the
        last 30 days, each bucket of the histogram at its middle, without an assumption about their distribution:

        - *False suspicions.* The histogram contains only gaps after which the broker was still registered, so every gap
          longer than a candidate would have been a false alarm. Gaps during mass-expiry protection are excluded. A gap
          longer than the configured timeout ended as an outage and is not in the histogram, so candidates above that
          timeout appear as good as it, never better.
        - *Detection time.* A broker fails at a random time, so more likely within a long gap. If it fails `a` ms after
          its last heartbeat, it is detected after `timeout - a` (at once if it is already suspected). The integral over
          a gap g is T·g - g²/2 if g ≤ T, else T²/2; the mean is the sum over all gaps divided by the sum of all gaps.
          Half a scan interval is added: a NameServer scans every five seconds.
        - *φ-accrual* is an adaptive detector: from the mean μ and deviation σ of a broker's gaps it computes the
          probability of the current silence, and suspects the broker at 10^-φ. With normally distributed gaps this is a
          timeout per broker, μ + z·σ, where z is the normal quantile of φ. RocketMQ has no such detector; it is
          included for comparison and never recommended.

        The recommendation is the shortest timeout with at most one false suspicion per broker in 100 days; if there is
        none, the one with the fewest. With less than one observed broker-day it is RocketMQ's default of 120 s.
    """,
    columns="""
        ns string
        cluster string
        detector string -- Kind of the detector: timeout or phi. | timeout
        candidate double -- The timeout in seconds, or φ. | 30.0
        timeout_ms bigint -- The timeout; of phi the mean over brokers. | 30000
        false_suspicions_per_broker_day double
            -- False alarms per broker and day: 0.01 is one per broker in 100 days. | 0.004
        mean_detection_s double -- Mean time from a failure to its detection in seconds. | 17.6
        recommended boolean -- True for the candidate that is recommended for the cluster. | true
        reason string -- Why it is recommended or not. | slower than the recommended timeout
        brokers int -- Number of brokers whose gaps were used. | 6
        broker_days double -- Sum of the time in which they were up, in days. | 5.97
        beats bigint -- Number of heartbeats. | 17280
    """,
)
OUTAGE_IMPACT: Final = Table(
    name="outage_impact",
    layer=Layer.GOLD,
    doc="Each broker outage: its bounds, reason, affected topics, topics left without a broker, look-ups during it",
    key=("ns", "cluster", "broker", "addr", "from_seq"),
    refresh=RefreshMode.BY_TIME,
    partition="days(to_at)",
    about="""
        An outage is a down interval of a broker that was not replaced (`replaced` is a role switch, or a move to
        another address or cluster). It ends when the broker registers again, under any address. If several brokers
        fail together, the last of them has the topics without a broker.

        - The broker failed between `last_seen_at` and `from_at`, so it was down for at least `min_s` and at most
          `max_s` seconds.
        - A broker that went while the NameServer was down is `unseen`. It is planned if another NameServer saw a
          planned outage of this broker that had not ended at `from_at`.
    """,
    columns="""
        ns string
        broker string
        addr string -- Address of the broker when it went. | 10.0.0.6:10911
        from_at timestamp -- Detection of the outage: the broker left the routes. | 2026-01-31 10:00:05
        to_at timestamp
            -- Return of the broker under any address, or end of the knowledge about it; null while it is gone.
            -- | 2026-01-31 10:00:35
        topics int -- Number of topics of its group at the begin of the outage. | 24
        topics_without_broker int -- Topics of these that no other broker had. | 2
        write_queues_lost bigint
            -- Writable queues of its group if the broker was the master or the last member, else 0. | 192
        lookups_during bigint
            -- Look-ups of these topics from the minute of the begin to the last whole minute of the outage. | 310
        cluster string
        reason string -- Why the broker left: unregistered, deregistered, closed, idle or expired. | expired
        planned boolean -- True if the broker unregistered or was deregistered by an operator. | false
        topic_names array<string> -- The topics of its group at the begin of the outage. | ["orders", "payments"]
        orphans array<string> -- The topics that no other broker had. | ["payments"]
        lookups_by_day map<date, bigint> -- `lookups_during` by day. | {"2026-01-31": 310}
        from_seq bigint
        to_seq bigint
        broker_id bigint -- Id of the broker when it went; 0 is the master. | 0
        member bigint
        ended string
            -- How the outage ended: returned, or nameserver_stopped by a cold start of the NameServer; null while it is
            -- open. | returned
        returned_addr string -- Address under which the broker returned; null otherwise. | 10.0.0.66:10911
        retired boolean -- True if an operator retired the broker during the outage. | false
        unseen boolean -- True if the broker went while the NameServer was down. | false
        last_seen_at timestamp -- Last time at which the broker was certainly alive. | 2026-01-31 09:58:00
        min_s double -- Lower bound of the length, from `from_at`; null while it is open. | 30.0
        max_s double -- Upper bound of the length, from `last_seen_at`; null while it is open. | 155.0
    """,
)
