/** Filters and sort orders of brokers and events. Pure. */

import type { BrokerRow, BrokerState, LiveEvent } from "./api.ts";

export interface BrokerFilter {
  q: string;
  state: string;
  cluster: string;
  zone: string;
  role: string; // master, slave, acting, or headless: in a group without a master
}

/** Every word must occur in the name, the address, the zone or the version. */
export function filterBrokers(rows: Iterable<BrokerRow>, filter: BrokerFilter): BrokerRow[] {
  const words = filter.q.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const all = [...rows];
  const headed = new Set(filter.role === "headless" ? all.filter((row) => row.id === 0 && row.state !== "down").map((row) => row.name) : []);
  return all.filter((row) => {
    if (filter.state !== "" && row.state !== filter.state) return false;
    if (filter.cluster !== "" && row.cluster !== filter.cluster) return false;
    if (filter.zone !== "" && (row.zone ?? "") !== filter.zone) return false;
    if (filter.role === "headless" ? headed.has(row.name) : filter.role !== "" && row.role !== filter.role) return false;
    if (words.length === 0) return true;
    const text = `${row.name} ${row.addr} ${row.zone ?? ""} ${row.version ?? ""}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

const WORST: Record<BrokerState, number> = { down: 0, suspected: 1, recovered: 2, up: 3 };

/** `b-2` before `b-10`. */
export const names = new Intl.Collator("en", { numeric: true, sensitivity: "base" });

const ORDERS: Record<string, (a: BrokerRow, b: BrokerRow) => number> = {
  state: (a, b) => WORST[a.state] - WORST[b.state],
  name: (a, b) => names.compare(a.name, b.name),
  role: (a, b) => a.id - b.id,
  cluster: (a, b) => names.compare(a.cluster, b.cluster),
  zone: (a, b) => names.compare(a.zone ?? "", b.zone ?? ""),
  addr: (a, b) => names.compare(a.addr, b.addr),
  version: (a, b) => names.compare(a.version ?? "", b.version ?? ""),
  topics: (a, b) => a.topics - b.topics,
  beat: (a, b) => b.last_seen_ms - a.last_seen_ms,
  since: (a, b) => (b.since_ms ?? 0) - (a.since_ms ?? 0),
};

/** Ties are sorted by name, then by id, in both directions, so that rows do not jump. */
export function sortBrokers(rows: readonly BrokerRow[], by: string, down: boolean): BrokerRow[] {
  const order = ORDERS[by] ?? ORDERS["name"];
  const sign = down ? -1 : 1;
  return [...rows].sort((a, b) => sign * (order?.(a, b) ?? 0) || names.compare(a.name, b.name) || a.id - b.id);
}

export interface EventFilter {
  kinds: ReadonlySet<string>; // empty: all but the per-minute counts
  broker: string;
  topic: string;
  q: string;
}

const MINUTE_KINDS = new Set(["heartbeat_minute", "lookup_minute"]);

export function wantsEvent(event: LiveEvent, filter: EventFilter, describe: (event: LiveEvent) => string): boolean {
  if (filter.kinds.size > 0 ? !filter.kinds.has(event.kind) : MINUTE_KINDS.has(event.kind)) return false;
  if (filter.broker !== "" && event.broker !== filter.broker && event.addr !== filter.broker) return false;
  if (filter.topic !== "" && event.topic !== filter.topic && !(event.topics ?? []).includes(filter.topic)) return false;
  if (filter.q === "") return true;
  return `${event.kind} ${event.broker ?? ""} ${event.topic ?? ""} ${event.addr ?? ""} ${event.who ?? ""} ${event.peer ?? ""} ${describe(event)}`.toLowerCase().includes(filter.q.toLowerCase());
}
