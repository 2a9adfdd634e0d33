/** Lake reports: availability, outages, flaps, divergence, timeouts, placement, demand, heartbeats, convergence, audit. */

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { get, type ApiError } from "../api.ts";
import { state, useLive } from "../live.ts";
import { useQuery } from "../query.ts";
import type { Audit, Availability, Common, ControllerReport, Convergence, Demand, Divergence, Flaps, Heartbeats, LakeContent, Outages, Placement, Tradeoff } from "../lake.ts";
import { day, duration, SECOND, zone } from "../time.ts";
import { Pick } from "./brokers.tsx";
import { brokerHref, setQuery, topicHref } from "../url.ts";
import { Badge, Choice, Command, CopyLink, count, Empty, Note, Panel, percent, plural, Problem, sentence, shareTone, Stat, Time, Loading } from "../ui/components.tsx";
import { Bars, Curve } from "../ui/charts.tsx";
import { Sign } from "../ui/icons.tsx";
import { CsvButton, PlainTable, SortedRows } from "../ui/plain_table.tsx";
import { ELECTION_CAUSE, REASON } from "../labels.ts";

const REPORTS: { key: string; title: string; about: string; show: (report: never) => JSX.Element }[] = [
  { key: "availability", title: "Availability", about: "Availability of each broker per day, worst first. Time that no NameServer observed does not count.", show: (one: Availability) => <AvailabilityView report={one} /> },
  { key: "outages", title: "Outages", about: "All outages and their impact on clients.", show: (one: Outages) => <OutagesView report={one} /> },
  { key: "flaps", title: "Flaps", about: "Brokers that repeatedly left and joined. If many do at the same time, the likely cause is the NameServer or its network.", show: (one: Flaps) => <FlapsView report={one} /> },
  { key: "divergence", title: "Divergence", about: "Intervals in which two NameServers had different routes.", show: (one: Divergence) => <DivergenceView report={one} /> },
  { key: "tradeoff", title: "Timeout advice", about: "Recommended heartbeat timeout. A shorter timeout detects failures sooner and causes more false alarms.", show: (one: Tradeoff) => <TradeoffView report={one} /> },
  { key: "placement", title: "Placement", about: "Topics on a single broker, without a master, or unevenly distributed; highest risk first.", show: (one: Placement) => <PlacementView report={one} /> },
  { key: "demand", title: "Demand", about: "Route look-ups per topic and client, and look-ups without a route.", show: (one: Demand) => <DemandView report={one} /> },
  { key: "heartbeats", title: "Heartbeats", about: "Gaps between the heartbeats of each broker; longest p99 first.", show: (one: Heartbeats) => <HeartbeatsView report={one} /> },
  { key: "convergence", title: "Convergence", about: "How long a change takes to reach all NameServers.", show: (one: Convergence) => <ConvergenceView report={one} /> },
  { key: "controller", title: "Controller", about: "Failovers, time without a master, unclean elections and replicas out of sync, per broker set.", show: (one: ControllerReport) => <ControllerView report={one} /> },
  { key: "audit", title: "Audit", about: "Admin changes and denied requests.", show: (one: Audit) => <AuditView report={one} /> },
];

export function ReportsPage({ query }: { query: URLSearchParams }): JSX.Element {
  const chosen = REPORTS.find((one) => one.key === query.get("report")) ?? REPORTS[0];
  const days = ["7", "30", "90"].includes(query.get("days") ?? "") ? query.get("days") ?? "30" : "30";
  const inZone = zone() === "utc" ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";
  const key = chosen?.key ?? "availability";
  const ns = query.get("ns") ?? "";
  const cluster = query.get("cluster") ?? "";
  const lake = useQuery("reports", (signal) => get<LakeContent>("/v1/reports", {}, signal)).value;
  const only = { ...(ns === "" ? {} : { ns }), ...(cluster === "" ? {} : { cluster }) };
  const found = useQuery(`${key} ${days} ${inZone} ${ns} ${cluster}`, (signal) => get<Common>(`/v1/reports/${key}`, { days, zone: inZone, ...only }, signal));
  const noLake = found.problem?.code === "no-lake" || found.problem?.code === "lake-extra-missing" || found.problem?.code === "no-lake-reader";
  const building = found.problem?.code === "lake-building" || found.problem?.code === "lake-failed"; // a failed build is retried
  return (
    <>
      <div class="head"><h1>Reports</h1>{found.value === null ? null : <span class="sub">from the lake, built <Time ms={Date.parse(found.value.build.at)} how="ago" /></span>}
        <div class="actions">
          {(lake?.nameservers.length ?? 0) > 1 || ns !== "" ? <Pick label="NameServer" none="All NameServers" value={ns} options={lake?.nameservers ?? []} onPick={(value) => setQuery({ ns: value === "" ? null : value }, "push")} /> : null}
          {(lake?.clusters.length ?? 0) > 1 || cluster !== "" ? <Pick label="Cluster" none="All clusters" value={cluster} options={lake?.clusters ?? []} onPick={(value) => setQuery({ cluster: value === "" ? null : value }, "push")} /> : null}
          <Choice label="Days" value={days} options={[{ value: "7", label: "7 days" }, { value: "30", label: "30 days" }, { value: "90", label: "90 days" }]} onPick={(value) => setQuery({ days: value === "30" ? null : value }, "push")} /><CopyLink /></div>
      </div>
      <nav class="tabs" aria-label="Reports"><ul>{REPORTS.map((one) => (
        <li key={one.key}><a href={href(one.key, days, only)} {...(one.key === key ? { "aria-current": "page" as const } : {})}>{one.title}</a></li>
      ))}</ul></nav>
      {noLake && found.problem !== null ? <NoLake problem={found.problem} />
        : building && found.problem !== null ? <LakeBuilding problem={found.problem} again={found.again} />
        : found.problem !== null ? <Problem problem={found.problem} again={found.again} />
        : found.value === null ? <><p class="muted">Loading the report…</p><Loading lines={8} /></>
        : <><p class="muted">{chosen?.about}</p>{chosen?.show(found.value as never)}</>}
    </>
  );
}

function href(report: string, days: string, only: Record<string, string>): string {
  const query = new URLSearchParams(only);
  if (report !== "availability") query.set("report", report);
  if (days !== "30") query.set("days", days);
  const text = query.toString();
  return text === "" ? "/reports" : `/reports?${text}`;
}

function NoLake({ problem }: { problem: ApiError }): JSX.Element {
  const missing = problem.code !== "no-lake";
  const command = problem.command ?? (missing ? 'pip install "routebook[lake]"' : "routebook lake build");
  return (
    <Panel title={missing ? "The lake reader is not installed" : "No lake has been built"}>
      <div class="stack">
        <p>{missing ? "Reports need additional packages:" : "Reports come from the lake: tables built from the journals of this and other NameServers. Build it with:"}</p>
        <div data-testid="lake-command"><Command text={command} /></div>
        {problem.hint === null || problem.hint.includes(command) ? null : <p class="muted">{sentence(problem.hint)}</p>}
      </div>
    </Panel>
  );
}

/** Progress of the first lake build of `routebook up`; polls until the report is available. */
function LakeBuilding({ problem, again }: { problem: ApiError; again: () => void }): JSX.Element {
  useEffect(() => {
    const timer = setTimeout(again, 2 * SECOND);
    return () => clearTimeout(timer);
  }, [problem]);
  return (
    <Panel title={problem.code === "lake-failed" ? "The first lake build failed; it is retried" : "The first lake build is in progress"}>
      <div class="stack">
        {problem.code === "lake-failed" ? <Problem problem={problem} /> : null}
        <p>Reports come from the lake: tables built from this NameServer's journal. The first build takes a minute or two; this page then shows the report.</p>
        {problem.hint === null || problem.code === "lake-failed" ? null : <p class="muted" role="status" data-testid="lake-progress">{sentence(problem.hint)}</p>}
      </div>
    </Panel>
  );
}

const at = (iso: string | null): number | null => (iso === null ? null : Date.parse(iso));
const seconds = (value: number | null): string => (value === null ? "–" : duration(value * SECOND));

function More({ truncated }: { truncated: boolean }): JSX.Element | null {
  return truncated ? <Note tone="info">The list is truncated; <code>routebook lake query</code> returns all rows.</Note> : null;
}

function AvailabilityView({ report }: { report: Availability }): JSX.Element {
  if (report.brokers.length === 0) return <Empty title="No brokers in this period." />;
  return (
    <>
      <div class="stats fit">{report.clusters.map((one) => (
        <Stat key={one.cluster} label={one.cluster} tone={shareTone(one.availability)} value={one.availability === null ? "–" : percent(one.availability)} note={`${plural(one.brokers, "broker")}, ${plural(one.outages, "outage")}`} />
      ))}</div>
      <Panel title="Calendar" flush aside={<span class="row legend"><span><Square a={1} /> 100 %</span> <span><Square a={0.9995} /> from 99.9 %</span> <span><Square a={0.998} /> from 99 %</span> <span><Square a={0.9} /> less</span> <span><Square a={null} /> not observed</span><CsvButton file="availability" of="Availability calendar" /></span>}>
        <SortedRows title="Availability calendar" class="calendar" head={["Broker", ["Availability"], ["Outages"], ["MTTR"], `${report.days[0] ?? ""} to ${report.days.at(-1) ?? ""}`]}>
          {report.brokers.map((one) => (
            <tr key={`${one.broker} ${one.addr}`}>
              <td class="nowrap"><a href={brokerHref(one.broker)}>{one.broker}</a> <span class="mono muted small">{one.addr}</span></td>
              <td class="num"><span class="row nowrap end"><Sign tone={shareTone(one.availability)} />{one.availability === null ? "–" : percent(one.availability)}</span></td>
              <td class="num">{one.outages}{one.plannedOutages > 0 ? <span class="muted small"> + {one.plannedOutages} planned</span> : null}</td>
              <td class="num">{seconds(one.mttrS)}</td>
              <td><span class="cells">{one.cells.map((cell, index) => <Square key={report.days[index]} a={cell === null ? null : cell.a} title={`${report.days[index] ?? ""}: ${cell === null || cell.a === null ? "not observed" : `${percent(cell.a)}, ${plural(cell.outages, "outage")}`}`} />)}</span></td>
            </tr>
          ))}
        </SortedRows>
      </Panel>
    </>
  );
}

/** One day: full is 100 %, a dot is 99.9 % or more, a line is 99 % or more, a cross is less, hollow is not observed. */
function Square({ a, title }: { a: number | null; title?: string }): JSX.Element {
  const tone = shareTone(a);
  return (
    <svg class="cell" width="13" height="13" viewBox="0 0 13 13" {...(title === undefined ? { "aria-hidden": "true" as const } : { role: "img", "aria-label": title })}>
      {title === undefined ? null : <title>{title}</title>}
      {tone === "none" ? <rect class="cell-none" x="1" y="1" width="11" height="11" rx="2" />
        : <rect class={`fill-${tone}`} x="0.5" y="0.5" width="12" height="12" rx="2" />}
      {a !== null && a < 1 && tone === "ok" ? <circle class="cell-dot" cx="6.5" cy="6.5" r="2" /> : tone === "warn" ? <path class="cell-mark" d="M3 10 10 3" /> : tone === "bad" ? <path class="cell-mark" d="M3.5 3.5l6 6m0-6-6 6" /> : null}
    </svg>
  );
}

function OutagesView({ report }: { report: Outages }): JSX.Element {
  if (report.outages.length === 0) return <Empty title="No outages in this period." />;
  return (
    <>
      <PlainTable title="Outages, newest first" aside={plural(report.outages.length, "outage")} head={["Broker", "From", ["Lasted"], "Reason", ["Topics"], "Topics without a broker", ["Write queues"], ["Look-ups"]]}>
        {report.outages.map((one) => (
          <tr key={`${one.broker}${one.addr}${one.fromAt}`}>
            <td class="nowrap"><a href={brokerHref(one.broker, { at: String(at(one.fromAt)) })}>{one.broker}</a><div class="mono muted small">{one.addr}</div></td>
            <td class="nowrap"><a class="plain-link" href={`/events?at=${String(at(one.fromAt))}`}><Time ms={at(one.fromAt)} /></a></td>
            <td class="num">{one.toAt === null ? <Badge tone="bad">still down</Badge> : seconds(one.durationS)}</td>
            <td><span title={REASON[one.reason ?? ""] ?? ""}>{one.reason ?? "–"}</span>{one.planned === true ? <span class="muted small"> planned</span> : null}{one.seenBy.length > 1 ? <div class="muted small">seen by {one.seenBy.length}</div> : null}</td>
            <td class="num">{count(one.topics)}</td>
            <td class="break">{one.orphaned === 0 ? <span class="muted">none</span> : <><Badge tone="bad">{plural(one.orphaned, "topic")}</Badge> <span class="small">{one.topicsWithoutBroker.slice(0, 3).join(", ")}{one.orphaned > 3 ? "…" : ""}</span></>}</td>
            <td class="num">{count(one.writeQueuesLost)}</td><td class="num">{count(one.lookupsDuring)}</td>
          </tr>
        ))}
      </PlainTable>
      <More truncated={report.truncated} />
    </>
  );
}

function FlapsView({ report }: { report: Flaps }): JSX.Element {
  if (report.flaps.length === 0) return <Empty title="No flapping in this period." />;
  return (
    <>
      <PlainTable title="Flaps" head={["Broker", "From", "To", ["Transitions"], ["Brokers flapping"], "Likely cause", "Seen by"]}>
        {report.flaps.map((one) => (
          <tr key={`${one.ns}${one.broker}${one.addr}${one.windowStart}`}><td class="nowrap"><a href={brokerHref(one.broker, { at: String(at(one.windowStart)) })}>{one.broker}</a> <span class="mono muted small">{one.addr}</span></td>
            <td class="nowrap"><Time ms={at(one.windowStart)} /></td><td class="nowrap"><Time ms={at(one.windowEnd)} /></td><td class="num">{one.transitions}</td><td class="num">{one.brokersFlapping}</td>
            <td>{one.scope === "broker" ? <Badge tone="warn">this broker</Badge> : <Badge tone="bad">the NameServer or its network</Badge>}</td><td class="small muted">{one.ns}</td></tr>
        ))}
      </PlainTable>
      <More truncated={report.truncated} />
    </>
  );
}

function DivergenceView({ report }: { report: Divergence }): JSX.Element {
  if (report.intervals.length === 0) return <Empty title="No divergence, or only one NameServer." />;
  return (
    <>
      <PlainTable title="Pairs" head={["NameServers", ["Intervals"], ["Total"], ["Longest"], ["Open"]]}>
        {report.pairs.map((one) => <tr key={one.nsA + one.nsB}><td>{one.nsA} and {one.nsB}</td><td class="num">{count(one.intervals)}</td><td class="num">{seconds(one.totalS)}</td><td class="num">{seconds(one.longestS)}</td><td class="num">{one.open}</td></tr>)}
      </PlainTable>
      <PlainTable title="Intervals" head={["Of", "What differed", "NameServers", "From", ["Lasted"]]}>
        {report.intervals.map((one, index) => (
          <tr key={index}><td class="break">{one.topic !== null ? <a href={topicHref(one.topic, { at: String(at(one.fromAt)) })}>{one.topic}</a> : one.broker !== null ? <a href={brokerHref(one.broker)}>{one.broker}</a> : "–"}{one.topic !== null && one.broker !== null ? <span class="muted small"> on {one.broker}</span> : null}</td>
            <td class="break">{one.difference === "missing_a" ? `missing at ${one.nsA}` : one.difference === "missing_b" ? `missing at ${one.nsB}` : (one.difference ?? "–").replaceAll("_", " ")}{one.topics === null ? "" : `, ${plural(one.topics, "topic")}`}{one.atA === null && one.atB === null ? null : <div class="small muted mono">{one.atA ?? "nothing"} / {one.atB ?? "nothing"}</div>}</td><td class="small">{one.nsA} / {one.nsB}</td><td class="nowrap"><Time ms={at(one.fromAt)} /></td><td class="num">{one.toAt === null ? <Badge tone="bad">current</Badge> : seconds(one.durationS)}</td></tr>
        ))}
      </PlainTable>
      <More truncated={report.truncated} />
    </>
  );
}

const DETECTOR: Record<string, string> = { timeout: "fixed timeout", phi: "phi accrual, as an equivalent timeout" };
const advised = (curve: Tradeoff["curves"][number]): boolean => curve.points.some((one) => one.recommended);

function TradeoffView({ report }: { report: Tradeoff }): JSX.Element {
  useLive("brokers");
  if (report.curves.length === 0) return <Empty title="Not enough heartbeats for a recommendation." />;
  return (
    <>
      {[...report.curves].sort((a, b) => Number(advised(b)) - Number(advised(a))).map((curve) => {
        const advice = curve.points.find((one) => one.recommended);
        const today = currentTimeout(curve.cluster);
        const title = [curve.ns, curve.cluster, DETECTOR[curve.detector ?? ""] ?? curve.detector].filter((one) => one !== null && one !== "").join(" · ");
        const because = report.advice.find((one) => one.ns === curve.ns && one.cluster === curve.cluster && one.detector === curve.detector)?.reason ?? null;
        return (
          <Panel key={title} title={title}>
            <div class="stack">
              {advice === undefined ? null : <Note tone="ok"><strong>Set <code>brokerNotActiveTimeoutMillis</code> in broker.conf{today === null ? "" : <> (today {duration(today)})</>} to {duration(advice.timeoutMs)}:</strong> failures are detected in {seconds(advice.meanDetectionS)} on average; {falseAlarms(advice.falsePerBrokerDay)}.{because === null ? "" : ` ${sentence(because)}`}</Note>}
              <Curve label={`Timeout advice of ${title}`} points={curve.points.map((one) => ({ x: one.timeoutMs, y: one.falsePerBrokerDay, z: one.meanDetectionS, chosen: one.recommended }))}
                xs={(value) => duration(value)} ys={(value) => (value === 0 ? "0" : value < 0.01 ? value.toExponential(0) : value < 1 ? value.toFixed(2) : count(Math.round(value)))} zs={(value) => seconds(value)}
                xName="timeout" yName="false alarms per broker and day" zName="mean detection time" />
            </div>
          </Panel>
        );
      })}
    </>
  );
}

/** The heartbeat timeout that most brokers of a cluster have now. */
function currentTimeout(cluster: string | null): number | null {
  const counts = new Map<number, number>();
  for (const row of state.brokers.values()) {
    if (row.state !== "down" && row.timeout_ms > 0 && (cluster === null || row.cluster === cluster)) counts.set(row.timeout_ms, (counts.get(row.timeout_ms) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1])[0]?.[0] ?? null;
}

function falseAlarms(perDay: number): string {
  if (perDay <= 0) return "no false alarms in this period";
  return perDay >= 1 ? `${perDay.toFixed(1)} false alarms per broker and day` : `one false alarm per broker in ${duration(86_400 * SECOND / perDay)}`;
}

function PlacementView({ report }: { report: Placement }): JSX.Element {
  const { totals } = report;
  return (
    <>
      <div class="stats">
        <Stat label="Topics" value={count(totals.topics)} note={report.day ?? ""} />
        <Stat label="On one broker only" tone={totals.singleBroker > 0 ? "warn" : "ok"} value={count(totals.singleBroker)} />
        <Stat label="Without a master" tone={totals.noMaster > 0 ? "bad" : "ok"} value={count(totals.noMaster)} />
        <Stat label="Uneven distribution" tone={totals.skewed > 0 ? "warn" : "ok"} value={count(totals.skewed)} />
      </div>
      {report.skewHistogram.length === 0 ? null : <Panel title="Skew: most queues on one broker, divided by the mean"><Bars label="Topics by skew" bars={report.skewHistogram.map((one) => ({ key: String(one.from), label: `${one.from}${one.to === null ? "+" : ""}`, value: one.topics, title: `skew ${one.from.toFixed(2)} ${one.to === null ? "and more" : `to ${one.to.toFixed(2)}`}: ${plural(one.topics, "topic")}` }))} /></Panel>}
      <PlainTable title="Topics by risk" head={["Topic", "Cluster", "Risk", ["Brokers"], ["Write queues"], ["Skew"]]}>
        {report.topics.map((one) => (
          <tr key={one.ns + (one.cluster ?? "") + one.topic}><td class="break"><a href={topicHref(one.topic)}>{one.topic}</a></td><td>{one.cluster ?? "–"}</td>
            <td class="nowrap">{one.noMaster ? <Badge tone="bad">no master</Badge> : null} {one.singleBroker ? <Badge tone="warn">one broker</Badge> : null}</td>
            <td class="num">{one.brokers}</td><td class="num">{count(one.writeQueues)}</td><td class="num">{one.skew === null ? "–" : one.skew.toFixed(2)}</td></tr>
        ))}
      </PlainTable>
      <More truncated={report.truncated} />
    </>
  );
}

function DemandView({ report }: { report: Demand }): JSX.Element {
  if (report.hours.length === 0) return <Empty title="No look-ups in this period." />;
  return (
    <>
      <Panel title="Look-ups per hour" aside={<span class="row legend"><span><span class="key info" />look-ups</span> <span><span class="key bad" />without a route</span></span>}>
        <Bars label="Look-ups per hour" bars={report.hours.map((one) => {
          const ms = Date.parse(one.hour);
          const when = new Date(ms);
          return { key: one.hour, label: `${day(ms, Date.now())} ${String(when.getHours()).padStart(2, "0")}:00`, value: one.lookups, part: one.misses, title: `${when.toLocaleString()}: ${count(one.lookups)} look-ups, ${count(one.misses)} without a route` };
        })} />
      </Panel>
      <div class="cols">
        <div class="c7"><PlainTable title="Topics" head={["Topic", ["Look-ups"], ["No route"], ["Clients"]]}>
          {report.topics.map((one) => <tr key={one.topic}><td class="break"><a href={topicHref(one.topic)}>{one.topic}</a></td><td class="num">{count(one.lookups)}</td><td class="num">{one.misses > 0 ? <Badge tone="warn">{count(one.misses)}</Badge> : "0"}</td><td class="num">{count(one.clients)}</td></tr>)}
        </PlainTable></div>
        <div class="c5"><PlainTable title="Clients" head={["Language", ["Clients"], ["Look-ups"]]}>
          {report.languages.map((one) => <tr key={`${one.language} ${one.version}`}><td>{one.language.toLowerCase()} {one.version}</td><td class="num">{count(one.clients)}</td><td class="num">{count(one.lookups)}</td></tr>)}
        </PlainTable></div>
      </div>
    </>
  );
}

function HeartbeatsView({ report }: { report: Heartbeats }): JSX.Element {
  if (report.brokers.length === 0) return <Empty title="No heartbeats in this period." />;
  return (
    <>
      <PlainTable title="Gaps between heartbeats" head={["Broker", ["Heartbeats"], ["p50"], ["p99"], ["Max"]]}>
        {report.brokers.map((one) => <tr key={one.broker + one.addr}><td class="nowrap"><a href={brokerHref(one.broker)}>{one.broker}</a> <span class="mono muted small">{one.addr}</span></td><td class="num">{count(one.beats)}</td><td class="num">{duration(one.gapP50Ms)}</td><td class="num">{duration(one.gapP99Ms)}</td><td class="num">{duration(one.gapMaxMs)}</td></tr>)}
      </PlainTable>
      <More truncated={report.truncated} />
    </>
  );
}

function ConvergenceView({ report }: { report: Convergence }): JSX.Element {
  const ms = (value: number | null): string => (value === null ? "–" : duration(value));
  return (
    <>
      <div class="stats"><Stat label="Changes" value={count(report.changes)} /><Stat label="p50" value={ms(report.p50Ms)} /><Stat label="p99" value={ms(report.p99Ms)} /><Stat label="Max" value={ms(report.maxMs)} /></div>
      {report.slowest.length === 0 ? <Empty title="No change was seen by more than one NameServer." /> : (
        <PlainTable title="Slowest" head={["Subject", "First seen", "Last seen", ["NameServers"], ["Spread"]]}>
          {report.slowest.map((one) => <tr key={one.changeId}><td class="break">{one.topic !== null ? <a href={topicHref(one.topic)}>{one.topic}</a> : one.broker ?? "–"}{one.topic !== null && one.broker !== null ? <span class="muted small"> on {one.broker}</span> : null}</td><td class="nowrap"><Time ms={at(one.firstAt)} /></td><td class="nowrap"><Time ms={at(one.lastAt)} /></td><td class="num">{one.nameservers}</td><td class="num">{ms(one.spreadMs)}</td></tr>)}
        </PlainTable>
      )}
    </>
  );
}

function ControllerView({ report }: { report: ControllerReport }): JSX.Element {
  if (report.sets.length === 0) return <Empty title="No broker sets: no Controller recorded anything in this period." />;
  return (
    <>
      <div class="stats">
        <Stat label="Failovers" value={count(report.failovers)} note={`p50 ${seconds(report.failoverP50S)}, longest ${seconds(report.failoverMaxS)}`} />
        <Stat label="Without a master" value={seconds(report.withoutMasterS)} note="all sets together" tone={report.sets.some((one) => one.withoutMaster) ? "bad" : "ok"} />
        <Stat label="Unclean elections" value={count(report.unclean)} tone={report.unclean > 0 ? "bad" : "ok"} />
        <Stat label="Elections" value={count(report.causes.reduce((sum, one) => sum + one.elections, 0))} note={report.causes.map((one) => `${one.elections} ${one.cause.replaceAll("_", " ")}`).join(", ")} />
      </div>
      <PlainTable title="Sets by time without a master" head={["Set", "Cluster", ["Elections"], ["Failovers"], ["Longest"], ["Without a master"], ["Unclean"], ["A replica out of sync"], "Now"]}>
        {report.sets.map((one) => (
          <tr key={`${one.cluster} ${one.broker}`}><td class="nowrap"><a href={brokerHref(one.broker)}>{one.broker}</a></td><td>{one.cluster}</td><td class="num">{count(one.elections)}</td><td class="num">{count(one.failovers)}</td>
            <td class="num">{seconds(one.longestFailoverS)}</td><td class="num">{seconds(one.withoutMasterS)}</td><td class="num">{one.unclean}</td><td class="num">{seconds(one.outOfSyncS)}</td>
            <td class="nowrap">{one.withoutMaster ? <Badge tone="bad">no master</Badge> : one.outOfSync.length > 0 ? <Badge tone="warn">out of sync: {one.outOfSync.join(", ")}</Badge> : <Badge tone="ok">in sync</Badge>}</td></tr>
        ))}
      </PlainTable>
      <PlainTable title="Elections, newest first" head={["When", "Set", "Cause", "Before", "Master", ["Epoch"], ["Time without a master"]]}>
        {report.elections.map((one) => (
          <tr key={`${one.ns} ${one.broker} ${one.masterEpoch} ${one.at}`}><td class="nowrap"><Time ms={at(one.at)} /></td><td class="nowrap">{one.broker}</td><td>{ELECTION_CAUSE[one.cause] ?? one.cause}{one.unclean ? <> <Badge tone="bad">unclean</Badge></> : null}</td>
            <td>{one.beforeId ?? "–"}</td><td>{one.masterId ?? <Badge tone="bad">none</Badge>}</td><td class="num">{one.masterEpoch}</td><td class="num">{seconds(one.failoverS)}</td></tr>
        ))}
      </PlainTable>
      <More truncated={report.truncated} />
    </>
  );
}

function AuditView({ report }: { report: Audit }): JSX.Element {
  if (report.requests.length === 0) return <Empty title="No admin changes in this period." />;
  return (
    <>
      <PlainTable title="Admin requests, newest first" head={["When", "Who", "Action", "Target", "Before", "After", "Allowed"]}>
        {report.requests.map((one, index) => (
          <tr key={index}><td class="nowrap"><Time ms={at(one.at)} /><div class="muted small">at {one.ns}</div></td><td class="break">{one.who ?? <span class="muted">unknown</span>}<div class="mono muted small">{one.peer ?? ""}</div></td><td>{one.action.replaceAll("_", " ")}</td>
            <td class="break">{one.target ?? "–"}</td><td class="break mono small">{one.before ?? "–"}</td><td class="break mono small">{one.after ?? "–"}</td><td>{one.allowed ? <Badge tone="ok">yes</Badge> : <Badge tone="bad">denied</Badge>}</td></tr>
        ))}
      </PlainTable>
      <More truncated={report.truncated} />
    </>
  );
}
