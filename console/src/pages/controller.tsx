/** The Controller: leader and peers, broker sets with their replicas, elections on a time line; elect and clean. */

import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { get, send, session, type ControllerOverview, type ControllerReplica, type ControllerSet, type ControllerSets, type Election, type Elections } from "../api.ts";
import { ELECTION_CAUSE } from "../labels.ts";
import { now } from "../live.ts";
import { masterLanes } from "../master_spans.ts";
import { useQuery } from "../query.ts";
import { duration, SECOND } from "../time.ts";
import { brokerHref, setQuery } from "../url.ts";
import { Badge, CertaintyNote, Choice, CopyLink, count, Empty, Loading, Note, Panel, plural, Problem, Scroll, Stat, Time } from "../ui/components.tsx";
import { Confirm, type Action } from "../ui/confirm.tsx";
import { Sign } from "../ui/icons.tsx";
import { Timeline } from "../ui/timeline.tsx";

const HOUR = 3600 * SECOND;
const PERIODS = [{ value: "1", label: "1 hour" }, { value: "24", label: "24 hours" }, { value: "168", label: "7 days" }] as const;
const MAX_LANES = 20;
const MAX_ROWS = 100;

export function ControllerPage({ query }: { query: URLSearchParams }): JSX.Element {
  const overview = useQuery("controller", (signal) => get<ControllerOverview>("/v1/controller", {}, signal), { everyMs: 2 * SECOND });
  const atMs = /^\d+$/.test(query.get("at") ?? "") ? Number(query.get("at")) : null;
  const value = overview.value;
  return (
    <>
      <div class="head"><h1>Controller</h1>{value?.node ? <span class="sub">group {value.node.group}, node {value.node.node} at {value.node.address}</span> : null}<div class="actions"><CopyLink /></div></div>
      {value === null ? (overview.problem === null ? <Loading lines={6} /> : <Problem problem={overview.problem} again={overview.again} />)
        : value.node === null ? <Disabled />
        : <Enabled overview={value} node={value.node} query={query} atMs={atMs} />}
    </>
  );
}

function Disabled(): JSX.Element {
  return (
    <Panel title="This process has no Controller">
      <Empty title="The Controller elects the masters of brokers in controller mode.">
        Put these lines into the file of <code>routebook serve -c FILE</code>:
        <code class="command top-gap">enableControllerInNamesrv=true<br />controllerDLegerGroup=group1<br />controllerDLegerPeers=n0-HOST:9878<br />controllerDLegerSelfId=n0</code>
      </Empty>
    </Panel>
  );
}

function Enabled({ overview, node, query, atMs }: { overview: ControllerOverview; node: NonNullable<ControllerOverview["node"]>; query: URLSearchParams; atMs: number | null }): JSX.Element {
  return (
    <>
      {node.problem === null ? null : <Note tone="bad"><strong>The log has a problem.</strong> {node.problem}. Brokers keep their roles until it is available.</Note>}
      <div class="stats">
        <Stat label="Leader" tone={node.leader === null ? "bad" : "ok"} value={node.is_leader ? "this node" : node.leader?.split(" ")[0] ?? "none"} note={node.leader ?? "no node leads"} />
        <Stat label="Broker sets" value={count(overview.sets)} note={`${plural(node.live_brokers, "live broker")} at this node`} />
        <Stat label="Without a master" tone={overview.sets_without_master > 0 ? "bad" : "ok"} value={count(overview.sets_without_master)} />
        <Stat label="Replicas out of sync" tone={overview.replicas_out_of_sync > 0 ? "warn" : "ok"} value={count(overview.replicas_out_of_sync)} />
      </div>
      <History query={query} atMs={atMs} />
      <Sets atMs={atMs} isLeader={node.is_leader} />
      <Peers node={node} />
    </>
  );
}

function Peers({ node }: { node: NonNullable<ControllerOverview["node"]> }): JSX.Element {
  return (
    <Panel title="Nodes" flush aside={`log: ${node.engine}; unclean elections ${node.unclean_elections ? "allowed" : "not allowed"}`}>
      <Scroll label="Nodes"><table class="plain">
        <thead><tr><th>Node</th><th>Address</th><th>Role</th></tr></thead>
        <tbody>{node.peers.map((one) => (
          <tr key={one.id} data-key={one.id}><td>{one.id}{one.is_self ? <span class="muted small"> this node</span> : null}</td><td class="mono">{one.address}</td><td>{one.leads ? <Badge tone="ok">leader</Badge> : <span class="muted">follower</span>}</td></tr>
        ))}</tbody>
      </table></Scroll>
    </Panel>
  );
}

function History({ query, atMs }: { query: URLSearchParams; atMs: number | null }): JSX.Element {
  const found = useQuery("elections", (signal) => get<Elections>("/v1/controller/elections", { limit: "500" }, signal), { everyMs: 2 * SECOND });
  const hours = PERIODS.find((one) => one.value === query.get("hours"))?.value ?? "24";
  const choose = <Choice label="Period" value={hours} options={PERIODS} onPick={(value) => setQuery({ hours: value === "24" ? null : value }, "push")} />;
  if (found.problem !== null && found.value === null) return <Panel title="Elections"><Problem problem={found.problem} again={found.again} /></Panel>;
  if (found.value === null) return <Panel title="Elections"><Loading /></Panel>;
  const to = now();
  const from = to - Number(hours) * HOUR;
  const { elections } = found.value;
  const lanes = masterLanes(elections, from, to);
  return (
    <Panel title="Elections" aside={choose}>
      {elections.length === 0 ? <Empty title="No election is recorded." /> : <div class="stack">
        <p class="muted small">One lane per set: its master over time. A colour change is an election, a thin red bar a time without a master. Click to see the sets at that time.</p>
        <Timeline label={`Masters of ${plural(lanes.length, "set")}`} lanes={lanes.slice(0, MAX_LANES)} from={from} to={to} unseen={[]} at={atMs} onPick={(ms) => setQuery({ at: String(ms) }, "push")} />
        {lanes.length > MAX_LANES ? <p class="small muted">{plural(lanes.length - MAX_LANES, "more set")} with older elections</p> : null}
        <ElectionTable elections={elections.slice(0, MAX_ROWS)} more={found.value.more || elections.length > MAX_ROWS} />
      </div>}
    </Panel>
  );
}

function ElectionTable({ elections, more }: { elections: Election[]; more: boolean }): JSX.Element {
  return (
    <>
      <Scroll label="Elections" class="changes"><table class="plain">
        <thead><tr><th>When</th><th>Set</th><th>Cause</th><th>Before</th><th>Master</th><th class="num">Epoch</th><th class="num">Without a master</th><th>Candidates</th></tr></thead>
        <tbody>{elections.map((one) => (
          <tr key={one.seq} data-seq={one.seq}>
            <td class="nowrap"><button type="button" class="textual" onClick={() => setQuery({ at: String(one.at_ms) }, "push")}><Time ms={one.at_ms} /></button></td>
            <td class="nowrap"><a href={brokerHref(one.broker)}>{one.broker}</a></td>
            <td>{ELECTION_CAUSE[one.cause] ?? one.cause}{one.unclean ? <> <Badge tone="bad" title="the new master was not in sync: messages may be lost">unclean</Badge></> : null}{one.cause === "operator" && (one.who ?? one.peer) !== null ? <div class="small muted">by {one.who ?? one.peer}</div> : null}</td>
            <td class="nowrap">{one.before_id ?? <span class="muted">none</span>}</td>
            <td class="nowrap">{one.master_id === null ? <Badge tone="bad">none</Badge> : <>{one.master_id} <span class="mono muted small">{one.master_addr}</span></>}</td>
            <td class="num">{one.master_epoch}</td>
            <td class="num">{one.lost_at_ms === null || one.master_id === null ? "–" : duration(Math.max(0, one.at_ms - one.lost_at_ms))}</td>
            <td><span class="row nowrap small">{one.candidates.map((other) => <span key={other.id} class="row nowrap" title={`epoch ${other.epoch}, offset ${other.max_offset}`}><Sign tone={other.alive ? "ok" : "bad"} />{other.id}{other.alive ? "" : " (not alive)"}</span>)}</span></td>
          </tr>
        ))}</tbody>
      </table></Scroll>
      {more ? <p class="small muted"><code>routebook controller elections</code> and the lake have older elections.</p> : null}
    </>
  );
}

function Sets({ atMs, isLeader }: { atMs: number | null; isLeader: boolean }): JSX.Element {
  const found = useQuery(`sets ${atMs ?? ""}`, (signal) => get<ControllerSets>("/v1/controller/sets", atMs === null ? {} : { at: String(atMs) }, signal), atMs === null ? { everyMs: 2 * SECOND } : {});
  const login = useQuery("session", () => session());
  const [action, setAction] = useState<Action | null>(null);
  const [q, setQ] = useState("");
  const past = found.value?.past ?? null;
  const sets = (past?.sets ?? found.value?.sets ?? []).filter((one) => one.broker.toLowerCase().includes(q.toLowerCase()));
  const act = atMs === null && login.value?.admin === true ? setAction : null;
  const aside = <>
    {atMs === null ? null : <span class="row nowrap">at <Time ms={atMs} /><button type="button" class="button" onClick={() => setQuery({ at: null }, "push")}>Now</button></span>}
    <input type="search" placeholder="Filter" aria-label="Filter sets" value={q} onInput={(event) => setQ(event.currentTarget.value)} />
  </>;
  return (
    <Panel title={atMs === null ? "Broker sets" : "Broker sets at a past time"} flush aside={aside}>
      {past === null ? null : <div class="in"><CertaintyNote certainty={past.certainty} />{past.certainty.observed && !past.led ? <Note tone="warn">This node did not lead at this time; the leader may have changed the sets.</Note> : null}</div>}
      {found.problem !== null && found.value === null ? <div class="in"><Problem problem={found.problem} again={found.again} /></div>
        : found.value === null ? <div class="in"><Loading /></div>
        : sets.length === 0 ? <Empty title={q === "" ? "No broker set is known." : "No sets match."} />
        : <Scroll label="Broker sets"><table class="plain">
            <thead><tr><th>Set</th><th>Master</th><th class="num">Epoch</th><th class="num">In-sync epoch</th><th>Replicas</th></tr></thead>
            <tbody>{sets.map((one) => <SetRow key={one.broker} one={one} act={act} done={found.again} />)}</tbody>
          </table></Scroll>}
      {login.value !== null && !login.value.authentication ? <p class="in small muted">Electing a master and cleaning replicas need <a href="/admin">authentication</a>; mqadmin works without it.</p>
        : act === null && atMs === null && login.value !== null ? <p class="in small muted"><a href="/admin">Log in</a> as an admin to elect a master or to clean replicas.</p>
        : act !== null && !isLeader ? <p class="in small muted">Changes are made at the console of the leader.</p> : null}
      {action === null ? null : <Confirm action={action} onClose={() => setAction(null)} />}
    </Panel>
  );
}

type Act = ((action: Action) => void) | null;

function SetRow({ one, act, done }: { one: ControllerSet; act: Act; done: () => void }): JSX.Element {
  const clean = (ids: number[], living: boolean, title: string): void => act?.({ title, danger: true, done, run: (dry_run) => send("POST", "/v1/admin/controller/clean", { broker: one.broker, broker_ids: ids, living, dry_run }) });
  return (
    <tr data-key={one.broker}>
      <td class="nowrap"><a href={brokerHref(one.broker)}>{one.broker}</a><div class="small muted">{one.cluster}</div>{one.cause ? <div class="small muted">{one.cause.kind.replaceAll("_", " ")}{one.cause.why ? `: ${ELECTION_CAUSE[one.cause.why] ?? one.cause.why}` : ""}</div> : null}</td>
      <td class="nowrap">{one.master_id === null ? <Badge tone="bad">no master</Badge> : <><strong>{one.master_id}</strong> <span class="mono muted small">{one.master_addr}</span></>}{one.since_ms === undefined || one.since_ms === null ? null : <div class="small muted">since <Time ms={one.since_ms} /></div>}</td>
      <td class="num">{one.master_epoch}</td><td class="num">{one.sync_state_epoch}</td>
      <td><ul class="list">{one.replicas.map((replica) => (
        <li key={replica.id} data-replica={replica.id}>
          <span class="grow"><strong>{replica.id}</strong> <span class="mono">{replica.addr}</span>{replica.epoch === undefined || replica.epoch === null ? null : <span class="muted small"> epoch {replica.epoch}, offset {count(replica.max_offset ?? 0)}</span>}</span>
          <Marks replica={replica} />
          {act === null ? null : <span class="row nowrap">
            {replica.is_master ? null : <button type="button" class="button" aria-label={`Make master: replica ${replica.id} of ${one.broker}`} onClick={() => act({ title: `Make ${replica.id} master of ${one.broker}`, danger: !replica.in_sync, done, run: (dry_run) => send("POST", "/v1/admin/controller/elect", { broker: one.broker, broker_id: replica.id, dry_run }) })}>Make master…</button>}
            <button type="button" class="button" aria-label={`Clean: replica ${replica.id} of ${one.broker}`} onClick={() => clean([replica.id], false, `Clean replica ${replica.id} of ${one.broker}`)}>Clean…</button>
          </span>}
        </li>
      ))}</ul></td>
    </tr>
  );
}

function Marks({ replica }: { replica: ControllerReplica }): JSX.Element {
  return (
    <span class="row nowrap">
      {replica.is_master ? <Badge tone="info">master</Badge> : null}
      {replica.in_sync ? <Badge tone="ok">in sync</Badge> : <Badge tone="warn">out of sync</Badge>}
      {replica.alive === undefined ? null : replica.alive ? <Badge tone="ok">alive</Badge> : <Badge tone="bad">not alive</Badge>}
    </span>
  );
}
