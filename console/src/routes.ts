/** Routes as diagrams show them, and the differences between two. Pure. */

import type { Route, RouteVersion } from "./api.ts";
import { permission, role } from "./labels.ts";

export interface Stop {
  broker: string;
  cluster: string;
  zone: string | null;
  addrs: { id: number; addr: string }[]; // master first
  actingMaster: boolean;
  perm: number;
  read: number;
  write: number;
  mapped: number | null; // logical queues of a static topic
}

export type Change = "same" | "added" | "removed" | "changed";

export interface Difference {
  broker: string;
  change: Change;
  details: string[];
}

/** One stop per broker of the route, with or without queues. */
export function stops(route: Route | null): Stop[] {
  if (route === null) return [];
  const brokers = new Map(route.brokers.map((one) => [one.name, one]));
  const queues = new Map(route.queues.map((one) => [one.broker, one]));
  const names = [...new Set([...queues.keys(), ...brokers.keys()])];
  return names.map((name) => {
    const broker = brokers.get(name);
    const queue = queues.get(name);
    const mapping = route.static_mappings[name];
    return {
      broker: name,
      cluster: broker?.cluster ?? "",
      zone: broker?.zone ?? null,
      addrs: Object.entries(broker?.addrs ?? {}).map(([id, addr]) => ({ id: Number(id), addr })).sort((a, b) => a.id - b.id),
      actingMaster: broker?.acting_master ?? false,
      perm: queue?.perm ?? 0,
      read: queue?.read_queues ?? 0,
      write: queue?.write_queues ?? 0,
      mapped: mapping === undefined ? null : Object.keys(mapping.queues).length,
    };
  }).sort((a, b) => a.cluster.localeCompare(b.cluster) || a.broker.localeCompare(b.broker, "en", { numeric: true }));
}

/** Differences from `before` to `after`, per broker. */
export function differences(before: readonly Stop[], after: readonly Stop[]): Map<string, Difference> {
  const found = new Map<string, Difference>();
  const old = new Map(before.map((one) => [one.broker, one]));
  for (const stop of after) {
    const was = old.get(stop.broker);
    old.delete(stop.broker);
    if (was === undefined) {
      found.set(stop.broker, { broker: stop.broker, change: "added", details: [`${stop.read} read and ${stop.write} write queues, ${permission(stop.perm)}`] });
      continue;
    }
    const details = changes(was, stop);
    if (details.length > 0) found.set(stop.broker, { broker: stop.broker, change: "changed", details });
  }
  for (const gone of old.values()) found.set(gone.broker, { broker: gone.broker, change: "removed", details: [`was ${gone.read} read and ${gone.write} write queues`] });
  return found;
}

function changes(was: Stop, is: Stop): string[] {
  const details: string[] = [];
  if (was.perm !== is.perm) details.push(`${permission(was.perm)} → ${permission(is.perm)}`);
  if (was.read !== is.read) details.push(`read queues ${was.read} → ${is.read}`);
  if (was.write !== is.write) details.push(`write queues ${was.write} → ${is.write}`);
  if (was.cluster !== is.cluster) details.push(`cluster ${was.cluster} → ${is.cluster}`);
  if (was.zone !== is.zone) details.push(`zone ${was.zone ?? "none"} → ${is.zone ?? "none"}`);
  if (was.mapped !== is.mapped) details.push(`logical queues ${was.mapped ?? "none"} → ${is.mapped ?? "none"}`);
  const before = new Map(was.addrs.map((one) => [one.id, one.addr]));
  for (const { id, addr } of is.addrs) {
    const old = before.get(id);
    before.delete(id);
    if (old === undefined) details.push(`${role(id)} added: ${addr}`);
    else if (old !== addr) details.push(`${role(id)} ${old} → ${addr}`);
  }
  for (const [id, addr] of before) details.push(`${role(id)} removed: ${addr}`);
  return details;
}

/** The version that was valid at a time; versions are newest first. */
export function versionAt(versions: readonly RouteVersion[], at: number): RouteVersion | null {
  return versions.find((one) => one.valid_from_ms <= at) ?? null;
}
