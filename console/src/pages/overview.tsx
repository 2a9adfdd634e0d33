/** Overview: brokers, recent events, health of this NameServer. */

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { get, type BrokerRow, type BrokerState, type Condition, type Overview, type Records, type Strip } from "../api.ts";
import { useQuery } from "../query.ts";
import { names } from "../filters.ts";
import { groupEvents } from "../event_groups.ts";
import { now, state, useLive } from "../live.ts";
import { fromUrl, MINUTE } from "../time.ts";
import { brokerHref, setQuery, topicHref } from "../url.ts";
import { Badge, Choice, count, Empty, Note, Panel, percent, plural, Problem, rate, sentence, Stat, Time, TONE, CertaintyNote, Loading, WithLinks } from "../ui/components.tsx";
import { EventLine } from "../ui/events.tsx";
import { Sign, type Tone } from "../ui/icons.tsx";
import { FirstBroker } from "../ui/first_broker.tsx";
import { ActivityChart } from "../ui/activity.tsx";
import { RangePicker } from "../ui/range.tsx";
import { QUIET_KINDS, role } from "../labels.ts";

const HEALTH: Record<Condition, Tone> = { ok: "ok", degraded: "warn", failed: "bad" };
const SHOWN_EVENTS = 14;

export function OverviewPage({ query }: { query: URLSearchParams }): JSX.Element {
  const { overview } = useLive("overview");
  if (overview === null) return <><div class="head"><h1>Overview</h1></div><Loading lines={6} /></>;
  const { brokers } = overview;
  const total = brokers.up + brokers.recovered + brokers.suspected;
  return (
    <>
      <div class="head"><h1>Overview</h1><span class="sub">{plural(overview.clusters, "cluster")}, {plural(overview.groups, "broker group")}, {plural(total, "broker")}</span></div>
      <Alarms overview={overview} />
      <div class="stats">
        <Stat label="Up" tone="ok" value={count(brokers.up)} href="/brokers?state=up" />
        <Stat label="Suspected" tone={brokers.suspected > 0 ? "warn" : "none"} value={count(brokers.suspected)} note="late heartbeat" href="/brokers?state=suspected" />
        <Stat label="Recovered" tone={brokers.recovered > 0 ? "info" : "none"} value={count(brokers.recovered)} note="waiting to re-register" href="/brokers?state=recovered" />
        <Stat label="Down now" tone={brokers.down > 0 ? "bad" : "none"} value={count(brokers.down)} note="left within 24 h" href="/brokers?state=down" />
        <Stat label="Masters missing" tone={overview.masters_missing_total > 0 ? "bad" : "ok"} value={count(overview.masters_missing_total)} href="/brokers?role=headless" />
        <Stat label="Topics" value={count(overview.topics)} href="/topics" />
        <Stat label="Look-ups" value={<>{rate(overview.lookups_per_s)}<small> / s</small></>} note={`${rate(overview.misses_per_s)} / s without a route`} href="/topics?show=misses" />
      </div>
      {overview.groups === 0 && brokers.down === 0 ? <FirstBroker /> : null}
      <DayStrip query={query} />
      <div class="cols">
        <Panel class="c7" title="Recent events" flush aside={<a href="/events">all events</a>}><RecentEvents /></Panel>
        <div class="c5 stack">
          <FleetMap />
          <HealthPanel overview={overview} />
        </div>
      </div>
    </>
  );
}

function Alarms({ overview }: { overview: Overview }): JSX.Element | null {
  const bad = Object.entries(overview.parts).filter(([name, part]) => part.condition !== "ok" && name !== "brokers");
  const { up, suspected, recovered, down } = overview.brokers;
  const gone = up + suspected + recovered === 0 && down > 0;
  return (
    <>
      {gone ? <Note tone="bad">
          <strong>All {plural(down, "broker")} are down: {plural(overview.topics_lost_total, "topic")} {overview.topics_lost_total === 1 ? "has" : "have"} no route.</strong>{" "}
          Clients get no routes from this NameServer. <a href="/brokers?state=down">Which brokers, and why</a>
        </Note>
        : overview.topics_lost_total > 0 ? <Note tone="bad">
          <strong>{plural(overview.topics_lost_total, "topic")} lost {overview.topics_lost_total === 1 ? "its" : "their"} last broker:</strong> clients get no route.
          <div class="names top-gap">{overview.topics_lost.slice(0, 8).map((name) => <a key={name} href={topicHref(name)}>{name}</a>)}
            {overview.topics_lost_total > 8 ? <span class="muted">{count(overview.topics_lost_total - 8)} more</span> : null}</div>
        </Note> : null}
      {!overview.ready ? <Note tone="warn"><strong>Not ready.</strong> Do not send clients to this server yet.</Note> : null}
      {overview.protection.active
        ? <Note tone="warn"><strong>Mass-expiry protection is on</strong> since <Time ms={overview.protection.since_ms} />: {plural(overview.protection.silent, "broker")} stopped sending heartbeats at the same time; their routes are kept.</Note> : null}
      {bad.map(([name, part]) => (
        <Note key={name} tone={HEALTH[part.condition]}><strong>{name}: {part.condition}.</strong> {part.says === "" ? "" : <WithLinks text={sentence(part.says)} />}</Note>
      ))}
      {overview.masters_missing_total > 0 && !gone
        ? <Note tone="bad">
            <strong>{plural(overview.masters_missing_total, "group")} without a master:</strong> their topics accept no writes.
            <div class="names top-gap">{overview.masters_missing.slice(0, 12).map((name) => <a key={name} href={brokerHref(name)}>{name}</a>)}
              {overview.masters_missing_total > 12 ? <a href="/brokers?role=headless">{overview.masters_missing_total - 12} more</a> : null}</div>
          </Note> : null}
    </>
  );
}

const SPANS: Record<string, { title: string; label: string; steps: number }> = {
  "1": { title: "Last hour", label: "1 h", steps: 120 }, "6": { title: "Last 6 hours", label: "6 h", steps: 180 }, "24": { title: "Last 24 hours", label: "24 h", steps: 288 },
  "168": { title: "Last 7 days", label: "7 d", steps: 336 }, "720": { title: "Last 30 days", label: "30 d", steps: 360 },
};

function DayStrip({ query }: { query: URLSearchParams }): JSX.Element {
  const given = query.get("hours") ?? "";
  const span = SPANS[given] === undefined ? "24" : given;
  const [since, until] = [fromUrl(query.get("since")), fromUrl(query.get("until"))];
  const zoomed = since !== null && until !== null && since < until;
  const steps = SPANS[span]?.steps ?? 288;
  const strip = useQuery(zoomed ? `strip ${since} ${until}` : `strip ${span}`, (signal) => get<Strip>("/v1/strip", zoomed ? { since, until, steps: 288 } : { hours: span, steps }, signal), { everyMs: MINUTE / (span === "1" ? 4 : 1), keep: true });
  const zoom = (range: [number, number] | null): void => setQuery({ since: range === null ? null : String(range[0]), until: range === null ? null : String(range[1]) }, "push");
  return (
    <Panel title={zoomed ? <><Time ms={since} /> to <Time ms={until} /></> : SPANS[span]?.title}
      aside={<>{zoomed ? null : <Choice label="Span" value={span} options={Object.entries(SPANS).map(([value, one]) => ({ value, label: one.label }))} onPick={(value) => setQuery({ hours: value === "24" ? null : value })} />}
        <RangePicker from={strip.value?.from_ms ?? now() - 24 * 60 * MINUTE} to={strip.value?.to_ms ?? now()} chosen={zoomed} onPick={zoom} /></>}>
      {strip.value !== null ? <><ActivityChart strip={strip.value} onZoom={(from, to) => zoom([from, to])} />{strip.value.certainty.events_may_be_missing ? <CertaintyNote certainty={{ ...strip.value.certainty, known: true, observed: true }} /> : null}</>
        : strip.problem !== null ? <Problem problem={strip.problem} again={strip.again} /> : <Loading />}
    </Panel>
  );
}

function RecentEvents(): JSX.Element {
  const { events } = useLive("events");
  const { hello } = useLive("link");
  // Live events start at the hello message; older ones come from the journal.
  const past = useQuery(`recent ${hello?.boot ?? ""}`, (signal) => get<Records>("/v1/records", { limit: 100, kind: QUIET_KINDS }, signal), { keep: true });
  const shown = useMemo(() => {
    const live = events.slice(-300).reverse();
    const oldest = live.at(-1)?.seq ?? Infinity;
    return groupEvents([...live, ...(past.value?.records ?? []).filter((one) => one.seq < oldest)], SHOWN_EVENTS);
  }, [events, past.value]);
  if (shown.length === 0) {
    if (past.problem !== null) return <div class="in"><Problem problem={past.problem} /></div>;
    return past.value === null ? <div class="in"><Loading lines={6} /></div> : <Empty title="No events yet." />;
  }
  return <ol class="list event-list">{shown.map((story) => <EventLine key={story.event.seq} event={story.event} brokers={story.brokers} />)}</ol>;
}

const ORDER: Record<BrokerState, number> = { down: 0, suspected: 1, recovered: 2, up: 3 };

/** Every broker as one icon. Brokers that are not up come first and can be focused. */
function FleetMap(): JSX.Element {
  useLive("brokers");
  const clusters = new Map<string, BrokerRow[]>();
  for (const row of state.brokers.values()) {
    const rows = clusters.get(row.cluster) ?? [];
    clusters.set(row.cluster, rows);
    rows.push(row);
  }
  const sorted = [...clusters].sort(([a], [b]) => a.localeCompare(b));
  return (
    <Panel title="Fleet" aside={<a href="/brokers">table</a>}>
      {sorted.length === 0 ? <Empty title="No broker has registered." /> : null}
      <div class="stack">
        {sorted.map(([cluster, rows]) => {
          const there = rows.filter((row) => row.state !== "down").length;
          return (
            <div key={cluster}>
              <div class="row map-head"><a class="grow clip" href={`/brokers?cluster=${encodeURIComponent(cluster)}`}>{cluster}</a><span class="muted small">{there} of {rows.length} up · {percent(there / rows.length)}</span></div>
              <div class="map">
                {rows.sort((a, b) => ORDER[a.state] - ORDER[b.state] || names.compare(a.name, b.name) || a.id - b.id).map((row) => (
                  <a key={row.key} href={brokerHref(row.name)} class={TONE[row.state]} tabIndex={row.state === "up" ? -1 : 0}
                    title={`${row.name} · ${role(row.id)} · ${row.state}`} aria-label={`${row.name}, ${role(row.id)}, ${row.state}`}><Sign tone={TONE[row.state]} size={row.id === 0 ? 11 : 8} /></a>
                ))}
              </div>
            </div>
          );
        })}
      </div>
    </Panel>
  );
}

function HealthPanel({ overview }: { overview: Overview }): JSX.Element {
  const { journal, peers } = overview;
  return (
    <Panel title="This NameServer" flush aside={<Badge tone={HEALTH[overview.condition]}>{overview.condition}</Badge>}>
      <ul class="list">
        {Object.entries(overview.parts).map(([name, part]) => (
          <li key={name}><Sign tone={HEALTH[part.condition]} /><span class="part-name">{name}</span>
            <span class="grow muted clip" title={part.says}>{part.says !== "" ? part.says
              : name === "journal" && journal !== null ? `record ${count(journal.last_seq)}, ${journal.lag_ms < 1000 ? "on disk" : "not on disk yet"}`
              : name === "preservation" ? "mass-expiry protection: off" : "ok"}</span></li>
        ))}
        {journal === null ? <li><Sign tone="none" /><span class="part-name">journal</span><span class="grow muted">off: no history</span></li> : null}
        <li>
          <Sign tone={peers === null ? "none" : peers.diverged > 0 || peers.unreachable > 0 ? "warn" : "ok"} /><span class="part-name">peers</span>
          <span class="grow muted"><a href="/compare">{peers === null ? "none configured" : `${peers.agrees} of ${peers.total} agree${peers.diverged > 0 ? `, ${peers.diverged} diverged` : ""}${peers.unreachable > 0 ? `, ${peers.unreachable} unreachable` : ""}`}</a></span>
        </li>
        <li><Sign tone="none" /><span class="part-name">load</span><span class="grow muted num">{rate(overview.requests_per_s)} requests / s over {plural(overview.connections, "connection")}</span></li>
      </ul>
    </Panel>
  );
}
