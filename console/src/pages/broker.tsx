/** One broker group: uptime, heartbeats, topics, impact if it goes down. */

import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { get, name as enc, type BrokerBeats, type BrokerLoss, type BrokerRow, type BrokerSessions, type MaintenancePlan, type TopicsPage } from "../api.ts";
import { useQuery } from "../query.ts";
import { now, state, useLive } from "../live.ts";
import { DAY, duration, fromUrl, HOUR, MINUTE, SECOND } from "../time.ts";
import { brokerHref, setQuery, topicHref } from "../url.ts";
import { Badge, Command, HeartbeatAge, Choice, CopyLink, count, Empty, Note, Panel, percent, plural, Problem, sentence, ShareBar, shareTone, StateBadge, Time, CertaintyNote, Loading, Scroll } from "../ui/components.tsx";
import { Icon, Sign } from "../ui/icons.tsx";
import { RangePicker } from "../ui/range.tsx";
import { HeartbeatGaps, Timeline, type Lane } from "../ui/timeline.tsx";
import { REASON, role } from "../labels.ts";

export function BrokerPage({ name, query }: { name: string; query: URLSearchParams }): JSX.Element {
  useLive("brokers");
  const members = [...state.brokers.values()].filter((row) => row.name === name).sort((a, b) => a.id - b.id);
  const first = members[0];
  const at = fromUrl(query.get("at"));
  const [since, until] = [fromUrl(query.get("since")), fromUrl(query.get("until"))];
  const zoom: [number, number] | null = since !== null && until !== null && since < until ? [since, until] : null;
  const wanted = zoom === null ? 1 : Math.min(366, Math.ceil((now() - zoom[0]) / DAY));
  const days = zoom !== null ? [1, 7, 30, 90, 366].find((one) => one >= wanted) ?? 366 : [1, 7, 30].includes(Number(query.get("days"))) ? Number(query.get("days")) : 1;
  const there = members.filter((row) => row.state !== "down");
  // Sessions are queried again when a member joins or leaves.
  const turn = members.map((row) => `${row.key}${row.state === "down"}${row.since_ms ?? ""}`).join();
  const sessions = useQuery(`sessions ${days} ${turn}`, (signal) => get<BrokerSessions>(`/v1/brokers/${enc(name)}/sessions`, { days }, signal), { everyMs: MINUTE, keep: true });
  const unknown = members.length === 0 && sessions.problem?.status === 404;
  if (unknown) return <UnknownBroker name={name} />;
  return (
    <>
      <div class="head">
        <div class="grow"><span class="crumb"><a href="/brokers">Brokers</a></span><h1>{name}</h1></div>
        <div class="actions"><CopyLink /></div>
      </div>
      {first !== undefined && there.length > 0 && !there.some((row) => row.id === 0)
        ? <Note tone="bad"><strong>No master.</strong> {there.some((row) => row.role === "acting") ? "A slave acts as master: its topics can be read but not written." : "Its topics accept no writes until a master registers."}</Note> : null}
      {members.some((row) => row.read_only) ? <Note tone="warn"><strong>Read-only.</strong> No topic of this broker accepts writes. <a href="/admin?tab=brokers">Restore write permission</a></Note> : null}
      {state.overview === null ? <Loading lines={3} />
        : members.length === 0 ? <Note tone="warn">No broker with this name is registered. Its history is shown below.</Note>
        : <div class="members">{members.map((row) => <MemberCard key={row.key} row={row} />)}</div>}

      <Panel title="Uptime" aside={<>{zoom !== null ? null : <Choice label="Span" value={String(days)} options={[{ value: "1", label: "24 h" }, { value: "7", label: "7 days" }, { value: "30", label: "30 days" }]} onPick={(value) => setQuery({ days: value === "1" ? null : value })} />}
        <RangePicker from={zoom?.[0] ?? now() - days * DAY} to={zoom?.[1] ?? now()} chosen={zoom !== null} onPick={(range) => setQuery({ since: range === null ? null : String(range[0]), until: range === null ? null : String(range[1]) }, "push")} /></>}>
        {sessions.problem !== null && sessions.value === null ? <Problem problem={sessions.problem} again={sessions.again} />
          : sessions.value === null ? <Loading /> : <UpDown found={sessions.value} at={at} zoom={zoom} />}
      </Panel>
      <div class="cols">
        <div class="c7 stack">
          <SessionsPanel found={sessions.value} />
          <BeatsPanel name={name} members={members} />
        </div>
        <div class="c5 stack">
          <LossPanel name={name} topics={first?.topics ?? 0} down={there.length === 0} />
          {there.length === 0 ? null : <><RestartPanel name={name} topics={first?.topics ?? 0} /><TopicsPanel name={name} /></>}
        </div>
      </div>
    </>
  );
}

function MemberCard({ row }: { row: BrokerRow }): JSX.Element {
  return (
    <section class="panel member" data-key={row.key} aria-label={`${role(row.id)} ${row.addr}`}>
      <div class="row"><span class={`tag ${row.role}`}>{row.role === "slave" ? `slave ${row.id}` : row.role}</span><span class="mono grow clip">{row.addr}</span><StateBadge state={row.state} /></div>
      <dl class="facts small">
        {row.state === "down"
          ? <><dt>down since</dt><dd><Time ms={row.down_at_ms} />: {REASON[row.reason ?? ""] ?? row.reason ?? "unknown reason"}</dd></>
          : <><dt>heartbeat</dt><dd><HeartbeatAge seen={row.last_seen_ms} timeout={row.timeout_ms} state={row.state} /> of {duration(row.timeout_ms)}</dd>
              <dt>up since</dt><dd><Time ms={row.since_ms} /></dd></>}
        <dt>cluster</dt><dd>{row.cluster}{row.zone === null ? "" : `, zone ${row.zone}`}</dd>
        <dt>version</dt><dd>{row.version ?? "unknown"}{row.data_version === null ? "" : `, topic config version ${row.data_version}`}</dd>
      </dl>
    </section>
  );
}

function unseen(found: BrokerSessions): { from: number; to: number }[] {
  const gaps: { from: number; to: number }[] = [];
  let edge = found.from_ms;
  for (const run of [...found.nameserver].sort((a, b) => a.from_ms - b.from_ms)) {
    if (run.from_ms > edge) gaps.push({ from: edge, to: run.from_ms });
    edge = Math.max(edge, run.to_ms ?? found.to_ms);
  }
  if (edge < found.to_ms) gaps.push({ from: edge, to: found.to_ms });
  return gaps;
}

function UpDown({ found, at, zoom }: { found: BrokerSessions; at: number | null; zoom: [number, number] | null }): JSX.Element {
  const gaps = useMemo(() => unseen(found), [found]);
  // A broker keeps its lane under another address and another role.
  const lanes: Lane[] = found.members.map((member, lane) => {
    const sorted = member.sessions;
    const spans = sorted.flatMap((one, index) => {
      const end = one.to_ms ?? found.to_ms;
      const next = sorted[index + 1];
      const up = { from: one.from_ms, to: end, tone: "ok" as const, title: `up as ${role(one.broker_id)} at ${one.addr}` };
      if (next !== undefined && next.from_ms <= end) return [up];
      if (one.to_ms === null || one.ended === "role_switch" || one.ended === "replaced" || one.ended === "nameserver_cold_start") return [up];
      const why = REASON[one.ended ?? ""] ?? one.ended ?? "";
      return [up, { from: end, to: next?.from_ms ?? found.to_ms, tone: one.planned === true ? "none" as const : "bad" as const, title: `down: ${why}` }];
    });
    return { key: String(lane), label: `${role(member.broker_id)} ${member.addr}`, spans };
  });
  if (lanes.length === 0) return <Empty title="Not registered in this period." />;
  return (
    <div class="stack">
      <Timeline label={`Uptime of the members of ${found.broker}`} lanes={lanes} from={zoom?.[0] ?? found.from_ms} to={zoom?.[1] ?? found.to_ms} unseen={gaps} at={at} onZoom={(from, to) => setQuery({ since: String(from), until: String(to) }, "push")}
        onPick={(ms) => setQuery({ at: String(ms) })} />
      <p class="small muted row legend"><span><span class="key ok" />up</span> <span><span class="key bad low" />down</span> <span><span class="key none" />down, planned</span> <span><span class="key hatch" />not observed</span>
        {at === null ? null : <span class="at-note">selected: <Time ms={at} /> · <a href={`/events?at=${at}`}>events</a> · <a href={`/brokers?at=${at}`}>fleet at that time</a> · <button type="button" class="textual" onClick={() => setQuery({ at: null })}>clear</button></span>}</p>
      <CertaintyNote certainty={{ ...found.certainty, known: true, observed: true }} />
      <DaysTable found={found} />
    </div>
  );
}

/** Availability by day (UTC): bar, number, outages. */
function DaysTable({ found }: { found: BrokerSessions }): JSX.Element {
  const { members } = found;
  const days = [...new Set(members.flatMap((one) => one.days.map((day) => day.day)))].sort().reverse();
  return (
    <Scroll label="Availability by day"><table class="plain days">
      <caption class="hidden">Availability by day, in UTC</caption>
      <thead><tr><th>Day (UTC)</th>{members.map((one, column) => <th key={column}>{role(one.broker_id)} <span class="mono">{one.addr}</span></th>)}</tr></thead>
      <tbody>{days.map((day) => (
        <tr key={day}><td class="nowrap">{day}</td>{members.map((one, column) => {
          const cell = one.days.find((each) => each.day === day);
          if (cell === undefined || cell.observed_ms === 0) return <td key={column} class="muted">not observed</td>;
          const share = cell.up_ms / cell.observed_ms;
          return (
            <td key={column}><span class="row day-cell">
              <Sign tone={shareTone(share)} /><span class="num">{percent(share)}</span><ShareBar share={share} />
              <span class="muted small">{[cell.outages === 0 ? "" : plural(cell.outages, "outage"), cell.planned_outages === 0 ? "" : `${cell.planned_outages} planned, ${duration(cell.planned_down_ms)}`].filter((part) => part !== "").join(", ")}</span></span></td>
          );
        })}</tr>
      ))}</tbody>
    </table></Scroll>
  );
}

function SessionsPanel({ found }: { found: BrokerSessions | null }): JSX.Element {
  const [all, setAll] = useState(false);
  const rows = (found?.members ?? []).flatMap((member) => member.sessions).sort((a, b) => b.from_ms - a.from_ms);
  const shown = all ? rows : rows.slice(0, 8);
  return (
    <Panel title="Sessions" flush aside={found === null ? "" : plural(rows.length, "session")}>
      {found === null ? <div class="in"><Loading /></div> : rows.length === 0 ? <Empty title="No sessions in this period." /> : (
        <Scroll label="Sessions"><table class="plain">
          <thead><tr><th>Member</th><th>From</th><th>To</th><th class="num">Lasted</th><th>End reason</th></tr></thead>
          <tbody>{shown.map((one) => (
            <tr key={`${one.addr}${one.broker_id}${one.from_ms}`}>
              <td class="nowrap">{role(one.broker_id)}<div class="mono muted small">{one.addr}</div></td>
              <td class="nowrap">{one.began === "before" ? <span class="muted">before </span> : null}<Mark ms={one.from_ms} /></td>
              <td class="nowrap">{one.to_ms === null ? <Badge tone="ok">up</Badge> : <Mark ms={one.to_ms} />}</td>
              <td class="num">{duration((one.to_ms ?? now()) - one.from_ms)}</td>
              <td>{one.ended === null ? <span class="muted">–</span> : <><span title={`${REASON[one.ended] ?? ""}${one.peer === null ? "" : ` (from ${one.peer})`}`}>{one.ended.replaceAll("_", " ")}</span>
                <div class="muted small">{[one.planned === true ? "planned" : one.planned === false ? "unplanned" : "", one.who === null ? "" : `by ${one.who}`].filter((part) => part !== "").join(", ")}</div></>}</td>
            </tr>
          ))}</tbody>
        </table></Scroll>
      )}
      {rows.length > shown.length ? <div class="in"><button type="button" class="button" onClick={() => setAll(true)}>Show all {count(rows.length)}</button></div> : null}
    </Panel>
  );
}

/** A time; a click selects it in the timeline above. */
function Mark({ ms }: { ms: number }): JSX.Element {
  return <button type="button" class="textual plain" onClick={() => { setQuery({ at: String(ms) }); scrollTo({ top: 0 }); }}><Time ms={ms} /></button>;
}

function BeatsPanel({ name, members }: { name: string; members: BrokerRow[] }): JSX.Element {
  const beats = useQuery(`beats ${name}`, (signal) => get<BrokerBeats>(`/v1/brokers/${enc(name)}/beats`, {}, signal), { everyMs: 30 * SECOND });
  const to = now();
  const from = Math.floor(Math.max(beats.value?.since_ms ?? to - HOUR, to - 3 * HOUR) / MINUTE) * MINUTE;
  return (
    <Panel title="Heartbeat gaps" aside={beats.value === null ? "" : <>since <Time ms={from} /></>}>
      {beats.problem !== null ? <Problem problem={beats.problem} /> : beats.value === null ? <Loading />
        : beats.value.members.length === 0 ? <Empty title="No heartbeats since this server started." />
        : <div class="stack">{beats.value.members.map((one) => {
            const timeout = members.find((row) => row.addr === one.addr)?.timeout_ms || 120_000; // unknown while it is down
            return (
              <div key={one.addr} class="stack tight">
                <div class="row small"><span class="mono grow clip">{one.addr}</span>
                  <span class="muted num">{plural(one.beats, "heartbeat")} · p50 {one.gap_p50_ms === null ? "–" : duration(one.gap_p50_ms)} · p99 {one.gap_p99_ms === null ? "–" : duration(one.gap_p99_ms)} · max {duration(one.gap_max_ms)}</span></div>
                <HeartbeatGaps minutes={one.minutes.filter((each) => each.minute_ms >= from)} timeout={timeout} from={Math.min(from, to - 5 * MINUTE)} to={to} />
              </div>
            );
          })}</div>}
    </Panel>
  );
}

/** A name that was never registered: a message, and brokers with similar names. */
function UnknownBroker({ name }: { name: string }): JSX.Element {
  const part = name.toLowerCase().replace(/[-_]?\d+$/, "");
  const similar = [...new Set([...state.brokers.values()].map((row) => row.name))].filter((one) => one.toLowerCase().includes(part) || part.includes(one.toLowerCase())).sort().slice(0, 8);
  return (
    <>
      <div class="head"><div class="grow"><span class="crumb"><a href="/brokers">Brokers</a></span><h1>{name}</h1></div></div>
      <div class="panel"><Empty title={`No broker with the name ${name} has registered.`}>
        {similar.length > 0 ? <div class="names top-gap center">{similar.map((one) => <a key={one} href={brokerHref(one)}>{one}</a>)}</div> : null}
        <div class="row top-gap center"><a class="button primary" href="/brokers">All brokers</a><a class="button" href={`/topics?q=${encodeURIComponent(name)}`}>Topics with this name</a></div>
      </Empty></div>
    </>
  );
}

/** Whether the broker can be restarted now: the same answer as `routebook maintenance plan`. */
function RestartPanel({ name, topics }: { name: string; topics: number }): JSX.Element {
  const plan = useQuery(`plan ${name} ${topics}`, (signal) => get<MaintenancePlan>(`/v1/brokers/${enc(name)}/maintenance`, {}, signal), { everyMs: 30 * SECOND, keep: true });
  const { value } = plan;
  return (
    <Panel title="Restart" aside={value === null ? "" : <span data-testid="safe"><Badge tone={value.safe ? "ok" : "bad"}>{value.safe ? "safe now" : "not safe now"}</Badge></span>}>
      {value === null ? plan.problem !== null ? <Problem problem={plan.problem} again={plan.again} /> : <Loading /> : (
        <div class="stack">
          <ul class="reasons">{value.reasons.map((one) => <li key={one.code}><Sign tone={one.blocks ? "bad" : "none"} /><span class="break">{sentence(one.text)}</span></li>)}</ul>
          <details><summary>Steps of a restart</summary><ol class="steps top-gap">{value.steps.map((step) => <li key={step}>{step.startsWith("routebook ") ? <Command text={step} /> : sentence(step)}</li>)}</ol></details>
        </div>
      )}
    </Panel>
  );
}

function LossPanel({ name, topics, down }: { name: string; topics: number; down: boolean }): JSX.Element {
  const loss = useQuery(`loss ${name} ${topics} ${String(down)}`, (signal) => get<BrokerLoss>(`/v1/brokers/${enc(name)}/loss`, { limit: 40 }, signal), { keep: true });
  if (loss.problem !== null) return <Panel title="Impact if this broker goes down">{loss.problem.status === 404 ? <Empty title="Not registered: no impact." /> : <Problem problem={loss.problem} />}</Panel>;
  if (loss.value === null) return <Panel title="Impact if this broker goes down"><Loading /></Panel>;
  const { only_here, writes_only_here, write_queues, read_queues, has_other_members, down_at_ms } = loss.value;
  if (down_at_ms !== null) {
    return (
      <Panel title="What went down with it" aside={<Time ms={down_at_ms} />}>
        <div class="stack">
          <p>It had {plural(loss.value.topics, "topic")}. {only_here.total === 0 ? "All of them have a route on another broker." : ""}</p>
          <LossNames tone="bad" title={`no route now`} found={only_here} />
        </div>
      </Panel>
    );
  }
  return (
    <Panel title="Impact if this broker goes down">
      <div class="stack">
        <p>{only_here.total === 0 && writes_only_here.total === 0
          ? <><Icon name="check" /> Every topic is also on another broker.</>
          : <>Clients would lose <strong>{plural(write_queues, "write queue")}</strong> and {plural(read_queues, "read queue")} of {plural(loss.value.topics, "topic")}.</>}
          {has_other_members ? " If only the master goes down, a slave still serves reads." : ""}</p>
        <LossNames tone="bad" title="no other broker" found={only_here} />
        <LossNames tone="warn" title="no other writable broker" found={writes_only_here} />
      </div>
    </Panel>
  );
}

function LossNames({ tone, title, found }: { tone: "bad" | "warn"; title: string; found: { total: number; names: string[] } }): JSX.Element | null {
  if (found.total === 0) return null;
  return (
    <div class="stack tight">
      <h3 class="row"><Badge tone={tone}>{plural(found.total, "topic")}</Badge> with {title}</h3>
      <div class="names">{found.names.slice(0, 24).map((one) => <a key={one} class="clip" href={topicHref(one)}>{one}</a>)}{found.total > Math.min(24, found.names.length) ? <span class="muted">{count(found.total - Math.min(24, found.names.length))} more</span> : null}</div>
    </div>
  );
}

function TopicsPanel({ name }: { name: string }): JSX.Element {
  const [q, setQ] = useState("");
  const [limit, setLimit] = useState(50);
  const found = useQuery(`topics ${name} ${q} ${limit}`, (signal) => get<TopicsPage>("/v1/topics", { broker: name, q, limit }, signal), { keep: true });
  const topics = found.value?.topics ?? [];
  return (
    <Panel title="Topics" flush aside={<input type="search" placeholder="Filter" aria-label="Filter topics of this broker" value={q} onInput={(event) => setQ(event.currentTarget.value.trim())} />}>
      {found.value === null ? <div class="in"><Loading /></div> : topics.length === 0 ? <Empty title="No topics." /> : (
        <ul class="list tall">{topics.map((one) => (
          <li key={one.name}><a class="grow clip" href={topicHref(one.name)}>{one.name}</a><span class="muted small nowrap num">{one.brokers === 1 ? <Badge tone="warn">only here</Badge> : plural(one.brokers, "broker")}</span></li>
        ))}</ul>
      )}
      {found.value?.next ? <div class="in"><button type="button" class="button" onClick={() => setLimit(Math.min(1000, limit * 4))}>Show more</button></div> : null}
    </Panel>
  );
}

