/** Comparison with other NameServers: differences, and since when. */

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { get, ApiError, send, type Compared, type Disagreement, type PeerStatus } from "../api.ts";
import { useQuery } from "../query.ts";
import { useLive } from "../live.ts";
import { duration, SECOND } from "../time.ts";
import { brokerHref, setQuery, topicHref } from "../url.ts";
import { Badge, Command, count, Empty, Note, Panel, plural, Problem, Time, Loading, Scroll } from "../ui/components.tsx";
import { Icon, type Tone } from "../ui/icons.tsx";
import { permission } from "../labels.ts";

const TONES: Record<PeerStatus["state"], Tone> = { agrees: "ok", differs: "warn", diverged: "bad", unreachable: "bad", unknown: "none" };
const WORDS: Record<PeerStatus["state"], string> = {
  agrees: "agrees", differs: "settling", diverged: "diverged", unreachable: "unreachable", unknown: "not compared yet",
};

export function ComparePage({ query }: { query: URLSearchParams }): JSX.Element {
  const { hello } = useLive("link");
  return (
    <>
      <div class="head"><h1>Compare</h1><span class="sub">this NameServer{hello === null ? "" : `, ${hello.listen},`} compared with others</span></div>
      <Peers />
      <Other address={query.get("with") ?? ""} />
    </>
  );
}

function Peers(): JSX.Element {
  const peers = useQuery("peers", (signal) => get<{ peers: PeerStatus[] }>("/v1/peers", {}, signal), { everyMs: 5 * SECOND });
  const [open, setOpen] = useState<string | null>(null);
  if (peers.problem?.status === 503) {
    return (
      <Panel title="Peers">
        <Empty title="No peers are configured.">
          Configured peers are compared continuously, and a divergence is recorded as an event:
          <Command text="routebook serve -D routebook.peers=HOST:PORT,HOST:PORT" />
        </Empty>
      </Panel>
    );
  }
  if (peers.problem !== null) return <Problem problem={peers.problem} again={peers.again} />;
  if (peers.value === null) return <Loading />;
  return (
    <Panel title="Peers" flush aside="compared continuously">
      <Scroll label="Peers"><table class="plain">
        <thead><tr><th>NameServer</th><th>State</th><th>Since</th><th class="num">Differences</th><th class="num">Lasting</th><th>Last response</th></tr></thead>
        <tbody>{peers.value.peers.map((one) => (
          <tr key={one.peer} data-key={one.peer}>
            <td class="mono">{one.differences.length > 0
              ? <button type="button" class="textual mono" aria-expanded={open === one.peer} onClick={() => setOpen(open === one.peer ? null : one.peer)}>{one.peer}</button> : one.peer}</td>
            <td><Badge tone={TONES[one.state]}>{WORDS[one.state]}</Badge>{one.problem === null ? null : <div class="small muted break">{one.problem}</div>}</td>
            <td class="nowrap"><Time ms={one.since_ms} how="moment" />{one.since_ms === null ? null : <span class="muted small"> (<Time ms={one.since_ms} how="ago" />)</span>}</td>
            <td class="num">{count(one.total)}</td><td class="num">{count(one.lasting)}</td>
            <td class="nowrap"><Time ms={one.checked_ms} how={one.checked_ms === null ? "moment" : "ago"} /></td>
          </tr>
        ))}</tbody>
      </table></Scroll>
      {peers.value.peers.filter((one) => one.peer === open || (open === null && one.state === "diverged")).map((one) => (
        <div key={one.peer}><h3 class="panel-title">Differences to {one.peer}</h3><Differences found={one.differences} groups={one.groups} /></div>
      ))}
    </Panel>
  );
}

interface Allowed {
  allowed: "peers" | "any";
  peers: string[];
  why: string;
}

function Other({ address }: { address: string }): JSX.Element {
  const allowed = useQuery("allowed", (signal) => get<Allowed>("/v1/compare", {}, signal));
  const [typed, setTyped] = useState(address);
  const [found, setFound] = useState<Compared | null>(null);
  const [problem, setProblem] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  const compare = (to: string): void => {
    if (to === "" || busy) return;
    setBusy(true);
    setProblem(null);
    send<Compared>("POST", "/v1/compare", { address: to }).then(
      (answer) => { setFound(answer); setBusy(false); },
      (failed: unknown) => { setFound(null); setProblem(failed instanceof ApiError ? failed : new ApiError(0, null, String(failed), null)); setBusy(false); });
  };
  useEffect(() => { setTyped(address); compare(address); }, [address]);
  return (
    <Panel title="Any NameServer" aside="Java NameServers too">
      <div class="stack">
        <form class="row" onSubmit={(event) => { event.preventDefault(); const to = typed.trim(); if (to === address) compare(to); else setQuery({ with: to }, "push"); }}>
          <input type="text" class="grow-input mono" placeholder="HOST:PORT" aria-label="Address of a NameServer" value={typed} spellcheck={false} list="peers" onInput={(event) => setTyped(event.currentTarget.value)} />
          <datalist id="peers">{(allowed.value?.peers ?? []).map((one) => <option key={one} value={one} />)}</datalist>
          <button type="submit" class="button primary" disabled={busy || typed.trim() === ""}><Icon name="compare" />{busy ? "Comparing…" : "Compare"}</button>
        </form>
        {allowed.value?.allowed === "peers" ? <p class="small muted">{allowed.value.why}</p> : null}
        {problem !== null ? <Problem problem={problem} /> : null}
        {busy && found === null ? <Loading /> : null}
        {found === null ? null : <>
          <Note tone={found.agree ? "ok" : "warn"}>
            <strong>{found.agree ? "Both have the same routes." : `${plural(found.total, "difference")}${found.groups < found.total ? ` in ${plural(found.groups, "group")}` : ""}.`}</strong>{" "}
            Compared {plural(found.compared.brokers, "broker")} and {plural(found.compared.topics, "topic")} at <Time ms={found.at_ms} /> in {duration(found.took_ms)}.
            {found.complete ? "" : " There are too many topics to compare all of them."}
          </Note>
          {found.agree ? null : <Differences found={found.differences} groups={found.groups} />}
        </>}
      </div>
    </Panel>
  );
}

/** Topics that differ in the same way are one row; `groups` counts all rows. */
function Differences({ found, groups }: { found: Disagreement[]; groups: number }): JSX.Element {
  const sides = [...new Set(found.flatMap((one) => Object.keys(one.values)))];
  return (
    <Scroll label="Differences"><table class="plain">
      <thead><tr><th>Kind</th><th>Subject</th>{sides.map((one) => <th key={one}>{one}</th>)}<th>Likely cause</th></tr></thead>
      <tbody>{found.map((one, index) => (
        <tr key={index}>
          <td><span class="tag">{one.kind}</span></td>
          <td class="break what">{one.kind === "order" ? <a href={topicHref(one.subject)}>{one.subject}</a>
            : ["kv", "setting"].includes(one.kind) ? one.subject : <a href={brokerHref(one.subject.split(" id ")[0] ?? one.subject)}>{one.subject}</a>}
            <TopicNames names={one.topics ?? []} /></td>
          {sides.map((side) => { const value = one.values[side]; return <td key={side} class={one.kind === "permission" || (value ?? "").length < 26 ? "nowrap" : "break mono"}>{value === null || value === undefined ? <Badge tone="none">missing</Badge> : one.kind === "permission" ? permission(Number(value)) : value}</td>; })}
          <td class="small">{(one.stale ?? []).length > 0 ? `stale: ${(one.stale ?? []).join(", ")}` : ""}{one.because === undefined ? "" : ` ${one.because}`}</td>
        </tr>
      ))}</tbody>
    </table>{groups > found.length ? <p class="in muted small">and {plural(groups - found.length, "more row")}</p> : null}</Scroll>
  );
}

function TopicNames({ names }: { names: string[] }): JSX.Element | null {
  if (names.length === 0) return null;
  return <div class="small muted">{plural(names.length, "topic")}: {names.slice(0, 4).map((one, index) => <span key={one}>{index > 0 ? ", " : ""}<a href={topicHref(one)}>{one}</a></span>)}{names.length > 4 ? ` and ${count(names.length - 4)} more` : ""}</div>;
}
