/** Diagram of a route: cluster, brokers, queues; differences are marked with an icon and a word. */

import type { JSX } from "preact";
import type { Change, Difference, Stop } from "../routes.ts";
import { brokerHref } from "../url.ts";
import { permission, role } from "../labels.ts";
import { plural, ReadOnly, useNarrow } from "./components.tsx";
import { Icon, type IconName } from "./icons.tsx";

const ROW = 62;
const MAX_SQUARES = 32;
const MAX_STOPS = 60;
const IN_VIEW = 9; // with more brokers the cluster node would be out of view in the middle

const SIGN: Record<Change, IconName | null> = { same: null, added: "plus", removed: "minus", changed: "change" };

/** `other` is the compared route; brokers that only it has are drawn faded. `since` is appended to each mark. */
export function RoutePicture({ stops, other, found, since }: { stops: Stop[]; other: Stop[]; found: Map<string, Difference>; since: string }): JSX.Element {
  const here = new Set(stops.map((one) => one.broker));
  const ghosts = found.size === 0 ? [] : other.filter((one) => !here.has(one.broker));
  const clusters = new Map<string, Stop[]>();
  for (const stop of [...stops, ...ghosts]) {
    const list = clusters.get(stop.cluster) ?? [];
    clusters.set(stop.cluster, list);
    list.push(stop);
  }
  return (
    <div class="route" data-testid="route">
      {[...clusters].map(([cluster, list]) => <ClusterPart key={cluster} cluster={cluster} stops={list} here={here} found={found} since={since} />)}
    </div>
  );
}

function ClusterPart({ cluster, stops, here, found, since }: { cluster: string; stops: Stop[]; here: Set<string>; found: Map<string, Difference>; since: string }): JSX.Element {
  const narrow = useNarrow();
  const shown = stops.slice(0, MAX_STOPS);
  const high = shown.length * ROW;
  const far = !narrow && shown.length > IN_VIEW;
  const middle = (far ? IN_VIEW * ROW : high) / 2;
  return (
    <div class="route-cluster">
      <div class={`route-node cluster ${far ? "high" : ""}`} style={{ marginTop: far ? `${middle}px` : "" }}><span class="small muted">cluster</span><a class="clip" href={`/brokers?cluster=${encodeURIComponent(cluster)}`}>{cluster === "" ? "(unknown)" : cluster}</a><span class="small muted">{plural(stops.filter((one) => here.has(one.broker)).length, "broker")}</span></div>
      {narrow ? null : (
        <svg class="wires" width="64" height={high} aria-hidden="true">
          {shown.map((stop, index) => {
            const y = index * ROW + ROW / 2;
            return <path key={stop.broker} class={`wire ${here.has(stop.broker) ? "" : "ghost"} ${found.get(stop.broker)?.change ?? "same"} ${stop.perm & 2 ? "" : "shut"}`} d={`M0 ${middle}C40 ${middle} 24 ${y} 64 ${y}`} />;
          })}
        </svg>
      )}
      <ul class="route-stops">
        {shown.map((stop) => <StopRow key={stop.broker} stop={stop} ghost={!here.has(stop.broker)} difference={found.get(stop.broker)} since={since} />)}
      </ul>
      {stops.length > shown.length ? <p class="muted small">and {stops.length - shown.length} more brokers</p> : null}
    </div>
  );
}

function StopRow({ stop, ghost, difference, since }: { stop: Stop; ghost: boolean; difference: Difference | undefined; since: string }): JSX.Element {
  const change = difference?.change ?? "same";
  const sign = SIGN[change];
  const master = stop.addrs.find((one) => one.id === 0);
  return (
    <li class={`route-stop ${change} ${ghost ? "ghost" : ""}`} data-key={stop.broker} data-change={change}>
      <div class="route-node broker">
        <span class="row nowrap"><a class="clip" href={brokerHref(stop.broker)}>{stop.broker}</a>
          {stop.zone === null ? null : <span class="tag">{stop.zone}</span>}
          {(stop.perm & 2) === 0 && !ghost ? <ReadOnly /> : null}
          {master === undefined && !ghost ? <span class="tag bad"><Icon name="alert" size={11} />no master</span> : null}</span>
        <span class="small muted mono clip" title={stop.addrs.map((one) => `${role(one.id)} ${one.addr}`).join("\n")}>
          {stop.addrs.length === 0 ? "no address" : `${master?.addr ?? stop.addrs[0]?.addr ?? ""}${stop.addrs.length > 1 ? ` + ${plural(stop.addrs.length - 1, master === undefined ? "other" : "slave")}` : ""}`}</span>
      </div>
      <div class="route-queues">
        {ghost ? null : <Squares stop={stop} />}
        <span class="small muted nowrap">{ghost ? "not in this route" : <>{stop.write === stop.read ? plural(stop.read, "queue") : `${stop.write} write, ${stop.read} read`} · {permission(stop.perm)}{stop.mapped === null ? "" : ` · ${stop.mapped} logical`}</>}</span>
      </div>
      {difference === undefined ? null
        : <div class={`route-change ${change}`}>{sign === null ? null : <Icon name={sign} size={13} />}<span class="two-lines" title={difference.details.join("; ")}><strong>{change}{since}</strong> {difference.details.join("; ")}</span></div>}
    </li>
  );
}

/** One square per queue: full is read and write, half is read only, hollow is no access. */
function Squares({ stop }: { stop: Stop }): JSX.Element {
  const total = Math.max(stop.read, stop.write);
  const shown = Math.min(total, MAX_SQUARES);
  const readable = (stop.perm & 4) !== 0;
  const writable = (stop.perm & 2) !== 0;
  return (
    <svg class="squares" width={Math.min(16, Math.max(1, shown)) * 11 + (total > shown ? 14 : 0)} height={shown > 16 ? 21 : 10} role="img" aria-label={`${stop.read} read queues, ${stop.write} write queues, ${permission(stop.perm)}`}>
      {Array.from({ length: shown }, (_, index) => {
        const x = (index % 16) * 11 + 0.5;
        const y = Math.floor(index / 16) * 11 + 0.5;
        const read = readable && index < stop.read;
        const write = writable && index < stop.write;
        return (
          <g key={index}>
            <rect class="square" x={x} y={y} width="8" height="8" rx="1.5" />
            {read ? <path class="square-read" d={`M${x} ${y + 8}V${y}H${x + (write ? 8 : 0)}L${x + (write ? 8 : 8)} ${y + 8}Z`} /> : null}
          </g>
        );
      })}
      {total > shown ? <text x={16 * 11} y={20}>…</text> : null}
    </svg>
  );
}
