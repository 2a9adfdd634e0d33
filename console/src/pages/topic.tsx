/** One topic: its route at any time, its changes and their causes, its clients. */

import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, name as enc, ApiError, type RouteAnswer, type RouteTimeline, type RouteVersion, type TopicDemand, type Why } from "../api.ts";
import { useQuery, type QueryResult } from "../query.ts";
import { now, useLive } from "../live.ts";
import { differences, stops, versionAt, type Difference } from "../routes.ts";
import { DAY, duration, fromUrl, HOUR, marks, MINUTE, moment, SECOND, utc } from "../time.ts";
import { brokerHref, setQuery } from "../url.ts";
import { Badge, Choice, Command, CopyLink, count, Empty, Note, Panel, plural, Problem, sentence, Time, CertaintyNote, useWidth, Loading, Scroll } from "../ui/components.tsx";
import { Icon } from "../ui/icons.tsx";
import { TimePicker } from "../ui/time_picker.tsx";
import { RoutePicture } from "../ui/route.tsx";
import { describeStep, isCreatedOnUse, kindLabel, REASON } from "../labels.ts";

const SPANS: Record<string, number> = { "1h": HOUR, "1d": DAY, "7d": 7 * DAY, "30d": 30 * DAY };

/** No current route is not an error: the topic may have a history. */
async function routeNow(topic: string, signal: AbortSignal): Promise<RouteAnswer> {
  try {
    return await get<RouteAnswer>(`/v1/routes/${enc(topic)}`, {}, signal);
  } catch (problem) {
    if (problem instanceof ApiError && problem.status === 404) return { topic, at_ms: now(), route: null, past: null };
    throw problem;
  }
}

export function TopicPage({ name, query }: { name: string; query: URLSearchParams }): JSX.Element {
  const at = fromUrl(query.get("at"));
  const against = query.get("against") === "before" ? "before" : "now";
  const turn = useChanges(name);
  const current = useQuery(`now ${name} ${turn}`, (signal) => routeNow(name, signal), { keep: true, everyMs: 15 * SECOND });
  const history = useQuery(`history ${name} ${turn}`, (signal) => get<RouteTimeline>(`/v1/routes/${enc(name)}/history`, { limit: 300 }, signal), { keep: true });
  const versions = history.value?.versions ?? [];
  const version = at === null ? versions[0] ?? null : versionAt(versions, at);
  const past = useRouteAt(name, at, version);
  const shown = at === null ? current : past;

  const isNow = useMemo(() => stops(current.value?.route ?? null), [current.value]);
  const isShown = useMemo(() => stops(shown.value?.route ?? null), [shown.value]);
  const beforeAt = version === null ? null : version.valid_from_ms - 1;
  const before = useRouteAt(name, against === "before" ? beforeAt : null, null);
  const wasBefore = useMemo(() => stops(before.value?.route ?? null), [before.value]);
  const compares = at !== null || against === "before";
  const other = against === "before" ? wasBefore : isNow;
  const ready = shown.value !== null && (against === "before" ? before.value !== null : current.value !== null);
  // Compared with now: changes since. Compared with the version before: changes of this version.
  const [older, newer] = against === "before" ? [other, isShown] : [isShown, other];
  const found = useMemo(() => !compares || !ready ? new Map<string, Difference>() : differences(older, newer), [compares, ready, older, newer]);

  const read = isShown.reduce((sum, one) => sum + (one.perm & 4 ? one.read : 0), 0);
  const write = isShown.reduce((sum, one) => sum + (one.perm & 2 ? one.write : 0), 0);
  return (
    <>
      <div class="head">
        <div class="grow"><span class="crumb"><a href="/topics">Topics</a></span><h1>{name}</h1></div>
        <div class="actions"><CopyLink /></div>
      </div>
      <Panel title={at === null ? "Current route" : <>Route at <Time ms={at} /></>}
        aside={<>
          <span class="num" data-testid="route-sum">{shown.value === null ? "" : isShown.length === 0 ? "no route" : `${plural(isShown.length, "broker")}, ${count(write)} write and ${count(read)} read queues`}</span>
          <Choice label="Mark differences to" value={compares ? against : "now"} onPick={(value) => setQuery({ against: value === "now" ? null : value })}
            options={[{ value: "now", label: at === null ? "no comparison" : "vs now" }, { value: "before", label: "vs version before" }]} />
        </>}>
        <div class="stack">
          <Slider at={at} history={history} versions={versions} span={query.get("span") ?? ""} />
          {shown.value !== null ? <WhyNote topic={name} at={at} turn={at === null ? `${turn} ${version?.valid_from_ms ?? ""}` : ""} limited={isShown.length === 0 || write === 0} /> : null}
          {at === null ? null : <CertaintyNote certainty={past.value?.past?.certainty} />}
          {shown.problem !== null ? <Problem problem={shown.problem} again={shown.again} />
            : shown.value === null ? <Loading lines={4} />
            : isShown.length === 0 && found.size === 0 ? null
            : <RoutePicture stops={isShown} other={other} found={found} since={against === "before" ? "" : " since"} />}
          {compares && ready && found.size === 0 && isShown.length > 0 ? <p class="small muted row"><Icon name="check" />{against === "before" ? "Brokers and queues are the same as in the version before." : "The route is the same as now."}</p> : null}
          {shown.value?.route?.order_config ? <p class="small">Order configuration: <code>{shown.value.route.order_config}</code></p> : null}
        </div>
      </Panel>
      <div class="cols">
        <Panel class="c7" title="Changes" flush aside={history.value === null ? "" : `${count(versions.length)}${history.value.more ? "+" : ""} ${versions.length === 1 ? "version" : "versions"}`}>
          {history.problem !== null && history.value === null ? <div class="in"><Problem problem={history.problem} again={history.again} /></div>
            : history.value === null ? <div class="in"><Loading lines={5} /></div>
            : versions.length === 0 ? <Empty title="No changes recorded." /> : <Versions versions={versions} chosen={version} at={at} />}
        </Panel>
        <div class="c5"><DemandPanel name={name} /></div>
      </div>
    </>
  );
}

/** The cause of a missing or limited route, as `routebook why` reports it. */
function WhyNote({ topic, at, turn, limited }: { topic: string; at: number | null; turn: string; limited: boolean }): JSX.Element | null {
  const why = useQuery(`why ${topic} ${at ?? ""} ${turn}`, (signal) => get<Why>(`/v1/routes/${enc(topic)}/why`, { at }, signal), { keep: true });
  if (why.problem !== null) return limited ? <Problem problem={why.problem} again={why.again} /> : null;
  if (why.value === null) return limited ? <Loading lines={2} /> : null;
  const { cause, evidence, advice, state, valid_from_ms, valid_to_ms } = why.value;
  if (cause === null) return limited && state === "unknown" ? <Note tone="info">The journal does not go back to this time.</Note> : null;
  const expected = cause.kind === "never_existed" && isCreatedOnUse(topic);
  const title = { none: expected ? "No route, as expected" : "No route", read_only: "Read-only", reduced: "Reduced", available: "", unknown: "" }[state];
  return (
    <Note tone={expected ? "info" : state === "none" ? "bad" : "warn"}>
      <div data-testid="why" data-cause={cause.kind}>
        <strong>{title}: </strong>{sentence(cause.text)}{" "}
        {cause.broker === null ? null : <a href={brokerHref(cause.broker, cause.at_ms === null ? {} : { at: String(cause.at_ms) })}>{cause.broker}</a>}
        {state === "none" && valid_from_ms !== null && cause.kind !== "nameserver_down" ? <> Since <Time ms={valid_from_ms} />{valid_to_ms === null ? "" : <> until <Time ms={valid_to_ms} /> (for {duration(valid_to_ms - valid_from_ms)})</>}.</> : null}
        {advice === "" ? null : advice.startsWith("routebook ") ? <Command text={advice} /> : <div>{advice}</div>}
        {evidence.length === 0 ? null : <details><summary>Evidence</summary>
          <ul class="reasons top-gap">{evidence.map((one, index) => <li key={index}>{one.at_ms === null ? null : <a class="nowrap" href={`/events?at=${one.at_ms}`}><Time ms={one.at_ms} /></a>}<span class="break">{sentence(one.text)}</span></li>)}</ul></details>}
      </div>
    </Note>
  );
}

/** Incremented by every event that may change this topic's route. */
function useChanges(topic: string): number {
  const { events } = useLive("events");
  const seen = useRef(events.at(-1)?.seq ?? 0);
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const fresh = events.filter((one) => one.seq > seen.current);
    seen.current = events.at(-1)?.seq ?? seen.current;
    const touches = fresh.some((one) => one.topic === topic || (one.topics ?? []).includes(topic) || one.kind.startsWith("broker_") || one.kind.startsWith("permission_")
      || (one.kind === "topics_changed" && Object.values(one.counts ?? {}).reduce((sum, value) => sum + value, 0) > (one.topics ?? []).length));
    if (touches) setTurn((value) => value + 1);
  }, [events]);
  return turn;
}

/** The route at a past time. Results are cached by version, so moving the slider within one sends no query. */
function useRouteAt(topic: string, at: number | null, version: RouteVersion | null): QueryResult<RouteAnswer> {
  const kept = useRef(new Map<string, RouteAnswer>());
  const key = at === null ? null : version === null ? `at ${at}` : `version ${version.valid_from_ms} ${version.cause.seq}`;
  const [settled, setSettled] = useState(key);
  useEffect(() => {
    if (key !== null && kept.current.has(key)) return setSettled(key);
    const timer = setTimeout(() => setSettled(key), 40);
    return () => clearTimeout(timer);
  }, [key]);
  return useQuery(settled === null ? null : `${topic} ${settled}`, async (signal) => {
    const had = kept.current.get(settled ?? "");
    if (had !== undefined) return had;
    const answer = await get<RouteAnswer>(`/v1/routes/${enc(topic)}`, { at }, signal);
    if (version !== null && version.valid_to_ms !== null) kept.current.set(settled ?? "", answer);
    return answer;
  }, { keep: true });
}

function Slider({ at, history, versions, span }: { at: number | null; history: QueryResult<RouteTimeline>; versions: RouteVersion[]; span: string }): JSX.Element {
  const [ref, width] = useWidth();
  const to = now();
  const oldest = versions.at(-1)?.valid_from_ms ?? to - HOUR;
  const known = history.value?.certainty.extent?.from_ms ?? oldest;
  const chosen = SPANS[span];
  const wanted = chosen === undefined ? Math.min(oldest - (to - oldest) * 0.04, to - 10 * MINUTE) : to - chosen;
  const from = Math.round(Math.min(wanted, at ?? to));
  const x = (ms: number): number => ((ms - from) / (to - from)) * Math.max(1, width - 16) + 8;
  const pick = (ms: number | null): void => setQuery({ at: ms === null ? null : String(Math.round(ms)) });
  const here = at ?? to;
  const earlier = versions.find((one) => one.valid_from_ms < here - (at === null ? 0 : 1) && (at === null || one.valid_from_ms < at));
  const later = at === null ? undefined : [...versions].reverse().find((one) => one.valid_from_ms > at);
  return (
    <div class="slider">
      <div class="row">
        <button type="button" class="button" disabled={earlier === undefined} onClick={() => pick(earlier?.valid_from_ms ?? null)}><Icon name="left" />Earlier change</button>
        <button type="button" class="button" disabled={later === undefined} onClick={() => pick(later?.valid_from_ms ?? null)}>Later change<Icon name="right" /></button>
        <Choice label="Span of the slider" value={chosen === undefined ? "all" : span} options={[{ value: "1h", label: "1 h" }, { value: "1d", label: "24 h" }, { value: "7d", label: "7 d" }, { value: "all", label: "all" }]} onPick={(value) => setQuery({ span: value === "all" ? null : value })} />
        <span class="grow" />
        <TimePicker at={at} onPick={pick} label="At" />
      </div>
      <div class="slider-track" ref={ref}>
        <svg width={width} height="34" aria-hidden="true">
          {known > from ? <rect class="unseen" x={8} y="4" width={Math.max(0, x(Math.min(known, to)) - 8)} height="12" /> : null}
          {versions.filter((one) => one.valid_from_ms >= from).map((one) => (
            <path key={one.cause.seq} class={`tick ${one.brokers.length === 0 ? "bad" : ""}`} d={`M${x(one.valid_from_ms)} 3V17`} />
          ))}
          {marks(from, to, Math.max(2, width / 100)).map((one) => <text key={one.at} x={x(one.at)} y="31" text-anchor="middle">{one.label}</text>)}
        </svg>
        <input type="range" min={from} max={to} step={1} value={here} aria-label="Time of the route" aria-valuetext={at === null ? "now" : moment(at, to)} title={at === null ? "now" : utc(at)}
          onInput={(event) => { const ms = Number(event.currentTarget.value); pick(ms >= to - (to - from) / 500 ? null : ms); }}
          onKeyDown={(event) => {
            const step: Record<string, number> = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -10, PageUp: 10 };
            const move = step[event.key];
            if (move === undefined) return;
            event.preventDefault();
            const ms = here + (move * (to - from)) / 200;
            pick(ms >= to ? null : Math.max(from, ms));
          }} />
      </div>
    </div>
  );
}

function Versions({ versions, chosen, at }: { versions: RouteVersion[]; chosen: RouteVersion | null; at: number | null }): JSX.Element {
  const [most, setMost] = useState(25);
  return (
    <>
      <ol class="list versions">
        {versions.slice(0, most).map((one) => (
          <li key={`${one.valid_from_ms} ${one.cause.seq}`} class={one === chosen ? "chosen" : ""} {...(one === chosen ? { "aria-current": "true" as const } : {})}>
            <button type="button" class="textual nowrap" onClick={() => setQuery({ at: String(one.valid_from_ms) })}><Time ms={one.valid_from_ms} /></button>
            <div class="grow stack tight">
              <span><strong>{kindLabel(one.cause.kind)}</strong>{one.cause.why === undefined ? "" : `: ${REASON[one.cause.why] ?? one.cause.why.replaceAll("_", " ")}`}
                {one.cause.who !== undefined ? <span class="muted"> by {one.cause.who}</span> : one.cause.peer !== undefined ? <span class="muted"> from {one.cause.peer}</span> : null}</span>
              {one.steps.slice(0, 6).map((step, index) => (
                <span key={index} class="small step"><Icon name={step.change.includes("added") ? "plus" : step.change.includes("removed") ? "minus" : "change"} size={12} />
                  <a href={brokerHref(step.broker, { at: String(one.valid_from_ms) })}>{step.broker}</a> {step.change.replaceAll(",", ", ")}
                  <span class="muted break">: {describeStep(step.before, step.after)}</span></span>
              ))}
              {one.steps.length > 6 ? <span class="small muted">and {one.steps.length - 6} more brokers</span> : null}
            </div>
            <span class="small muted nowrap num">{one.brokers.length === 0 ? <Badge tone="bad">no route</Badge> : plural(one.brokers.length, "broker")}<br />
              {one.valid_to_ms === null ? one.brokers.length === 0 ? `for ${duration(now() - one.valid_from_ms)}, current` : "current" : `for ${duration(one.valid_to_ms - one.valid_from_ms)}`}</span>
          </li>
        ))}
      </ol>
      {versions.length > most ? <div class="in"><button type="button" class="button" onClick={() => setMost(most + 100)}>Show more</button></div> : null}
      {at !== null && chosen === null ? <div class="in"><Note tone="info">The chosen time is before the first recorded version.</Note></div> : null}
    </>
  );
}

function DemandPanel({ name }: { name: string }): JSX.Element {
  const demand = useQuery(`demand ${name}`, (signal) => get<TopicDemand>(`/v1/topics/${enc(name)}/demand`, {}, signal), { everyMs: 15 * SECOND });
  const { value } = demand;
  return (
    <Panel title="Clients" flush aside={value === null ? "" : <>since <Time ms={value.since_ms} /></>}>
      {demand.problem !== null && value === null ? <div class="in"><Problem problem={demand.problem} /></div> : value === null ? <div class="in"><Loading /></div>
        : value.lookups === 0 ? <Empty title="No look-ups in the last 15 minutes." />
        : <>
            <p class="in">{plural(value.lookups, "look-up")}{value.misses > 0 ? <>, <Badge tone="warn">{plural(value.misses, "no-route look-up")}</Badge></> : ", all with a route"}, from {plural(value.clients.length, "client")}</p>
            <Scroll label="Clients"><table class="plain">
              <thead><tr><th>Client</th><th>Language</th><th class="num">Look-ups</th><th class="num">Misses</th></tr></thead>
              <tbody>{value.clients.slice(0, 30).map((one) => (
                <tr key={`${one.client}${one.language}${one.version ?? ""}`}><td class="mono break">{one.client}</td><td>{one.language.toLowerCase()} {one.version ?? ""}</td><td class="num">{count(one.lookups)}</td><td class="num">{count(one.misses)}</td></tr>
              ))}</tbody>
            </table></Scroll>
          </>}
    </Panel>
  );
}
