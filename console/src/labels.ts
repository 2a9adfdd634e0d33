/** Labels and descriptions of events and reasons. Pure. */

import type { LiveEvent } from "./api.ts";
import type { Tone } from "./ui/icons.tsx";
import { duration } from "./time.ts";

export const REASON: Record<string, string> = {
  unregistered: "clean shutdown",
  deregistered: "deregistered by an operator",
  closed: "connection closed",
  idle: "connection idle for too long",
  expired: "no heartbeat within its timeout",
  replaced: "replaced by another address",
  role_switch: "role changed",
  nameserver_cold_start: "NameServer started without saved state",
  nameserver_stopped: "NameServer stopped",
};

export const KINDS = [
  "broker_up", "broker_down", "broker_changed", "broker_returned", "topics_changed", "mappings_changed", "permission_wiped",
  "permission_restored", "topic_deleted", "kv_changed", "setting_changed", "request_denied", "peer_diverged", "peer_agreed",
  "preservation_entered", "preservation_left", "server_started", "server_stopped", "journal_hole", "heartbeat_minute", "lookup_minute",
  "master_elected", "no_master_elected", "sync_state_changed", "broker_id_assigned", "replica_moved", "replicas_cleaned", "role_notified",
  "controller_leader", "broker_set_state",
] as const;

/** The kinds that are sent live by default: all but the per-minute counts. */
export const QUIET_KINDS: readonly string[] = KINDS.filter((kind) => !kind.endsWith("_minute"));

export const KIND: Record<string, string> = {
  broker_up: "broker up", broker_down: "broker down", broker_changed: "broker changed", broker_returned: "broker returned",
  topics_changed: "topics changed", mappings_changed: "mappings changed", permission_wiped: "write permission wiped",
  permission_restored: "write permission restored", topic_deleted: "topic deleted", kv_changed: "KV changed",
  setting_changed: "setting changed", request_denied: "request denied", peer_diverged: "peer diverged", peer_agreed: "peer agrees again",
  preservation_entered: "expiry protection on", preservation_left: "expiry protection off", server_started: "server started",
  server_stopped: "server stopped", journal_hole: "journal hole", heartbeat_minute: "heartbeats", lookup_minute: "look-ups",
  master_elected: "master elected", no_master_elected: "no master elected", sync_state_changed: "in-sync replicas changed",
  broker_id_assigned: "broker id assigned", replica_moved: "replica moved", replicas_cleaned: "replicas cleaned",
  role_notified: "role change sent", controller_leader: "controller leader", broker_set_state: "set at leader start",
};

/** Why the Controller looked for a master. */
export const ELECTION_CAUSE: Record<string, string> = {
  first: "first election", closed: "connection of the master closed", expired: "no heartbeat of the master", leader_start: "found dead when a node began to lead",
  scan: "found dead by the scan", operator: "chosen by an operator", broker: "a broker asked",
};

/** Groups of kinds for the filter. */
export const GROUPS: { key: string; label: string; kinds: string[] }[] = [
  { key: "brokers", label: "Brokers", kinds: ["broker_up", "broker_down", "broker_changed", "broker_returned", "preservation_entered", "preservation_left"] },
  { key: "topics", label: "Topics", kinds: ["topics_changed", "mappings_changed", "topic_deleted"] },
  { key: "admin", label: "Admin", kinds: ["permission_wiped", "permission_restored", "topic_deleted", "kv_changed", "setting_changed", "request_denied"] },
  { key: "controller", label: "Controller", kinds: ["master_elected", "no_master_elected", "sync_state_changed", "broker_id_assigned", "replica_moved", "replicas_cleaned", "role_notified", "controller_leader", "broker_set_state"] },
  { key: "server", label: "Server", kinds: ["server_started", "server_stopped", "journal_hole", "peer_diverged", "peer_agreed"] },
];

const PLANNED = new Set(["unregistered", "deregistered", "replaced"]);

export function kindLabel(kind: string): string {
  return KIND[kind] ?? kind.replaceAll("_", " ");
}

export function tone(event: Pick<LiveEvent, "kind"> & { reason?: string; fields?: LiveEvent["fields"] }): Tone {
  switch (event.kind) {
    case "broker_down": return PLANNED.has(event.reason ?? "") ? "none" : "bad";
    case "broker_up": case "peer_agreed": case "preservation_left": case "permission_restored": return "ok";
    case "broker_returned": case "server_started": return "info";
    case "topics_changed": return Number(event.fields?.["writable_again"] ?? 0) > 0 ? "info" : "none";
    case "preservation_entered": case "peer_diverged": case "request_denied": case "permission_wiped": case "topic_deleted": return "warn";
    case "journal_hole": case "no_master_elected": return "bad";
    case "master_elected": return "info";
    case "replicas_cleaned": return "warn";
    default: return "none";
  }
}

function some(names: string[] | undefined, total: number): string {
  const shown = (names ?? []).slice(0, 3);
  if (shown.length === 0) return "";
  const rest = total - shown.length;
  return `: ${shown.join(", ")}${rest > 0 ? ` and ${rest} more` : ""}`;
}

function topics(many: number): string {
  return many === 1 ? "1 topic" : `${many} topics`;
}

/** Kinds caused by a request of an operator. */
const ADMIN_ACTIONS = new Set(["permission_wiped", "permission_restored", "topic_deleted", "kv_changed", "setting_changed", "replicas_cleaned"]);

/** Whether an operator caused the event. */
export function isAdminAction(kind: string): boolean {
  return ADMIN_ACTIONS.has(kind);
}

/** Description of an event without its subject: `left (master at 10.0.0.3:10911): connection closed`, `deleted by root`. */
export function describe(event: LiveEvent): string {
  if (!isAdminAction(event.kind)) return happened(event);
  return `${happened(event)}${event.who !== undefined ? ` by ${event.who}` : event.peer !== undefined ? ` by a request from ${event.peer}` : ""}`;
}

function happened(event: LiveEvent): string {
  const field = (key: string): string => String(event.fields[key] ?? "");
  const number = (key: string): number => Number(event.fields[key] ?? 0);
  switch (event.kind) {
    case "broker_up": return `joined as ${role(event.broker_id)} at ${event.addr ?? "?"}`;
    case "broker_down": return `left (${role(event.broker_id)} at ${event.addr ?? "?"}): ${REASON[event.reason ?? ""] ?? event.reason ?? "?"}`;
    case "broker_changed": {
      const before = number("before_id");
      return before !== event.broker_id ? `switched from ${role(before)} to ${role(event.broker_id)}` : `registered a new configuration (${role(event.broker_id)})`;
    }
    case "broker_returned": return `re-registered (${role(event.broker_id)} at ${event.addr ?? "?"})`;
    case "topics_changed": {
      const parts = Object.entries(event.counts ?? {}).filter(([, value]) => value > 0);
      const total = parts.reduce((sum, [, value]) => sum + value, 0);
      const what = parts.map(([word, value], index) => (index > 0 ? `${value} ${word}` : value === 1 ? `topic ${word}` : `${value} topics ${word}`)).join(", ");
      const undone = number("writable_again");
      if (undone > 0) return `registered with write permission for ${topics(undone)} that ${undone === 1 ? "was" : "were"} read-only: this ends a wipe`;
      return `${what === "" ? "topics changed" : what}${some(event.topics, total)}${event.cause === undefined || event.cause === "registration" ? "" : ` (${event.cause.replaceAll("_", " ")})`}`;
    }
    case "mappings_changed": return `static topic mappings changed${some(event.topics, (event.topics ?? []).length)}`;
    case "permission_wiped": return `write permission removed (${topics(number("topics"))})`;
    case "permission_restored": return `write permission restored (${topics(number("topics"))})`;
    case "topic_deleted": return "deleted";
    case "kv_changed": return `${field("namespace")} / ${field("key")} ${event.fields["deleted"] === true ? "deleted" : `= ${field("after")}`}`;
    case "setting_changed": return `${field("key")}: ${field("before")} → ${field("after")}`;
    case "request_denied": return field("why").startsWith("http: ") ? `HTTP request refused: ${field("why").slice(6)}` : `request ${event.code ?? "?"} denied: ${field("why")}`;
    case "peer_diverged": return `${event.peer ?? "a peer"} has different routes: ${number("differences")} differences`;
    case "peer_agreed": return `${event.peer ?? "a peer"} has the same routes again, after ${duration(number("diverged_ms"))}`;
    case "preservation_entered": return `${number("silent")} of ${number("known")} brokers stopped sending heartbeats at the same time: their routes are kept`;
    case "preservation_left": return `routes of silent brokers expire again (${(event.reason ?? "?").replaceAll("_", " ")}) after ${duration(number("lasted_ms"))}`;
    case "server_started": return `NameServer started, version ${field("version")}${number("recovered") > 0 ? `, ${number("recovered")} brokers recovered` : ""}`;
    case "server_stopped": return `NameServer stopped: ${event.reason ?? "?"}`;
    case "journal_hole": return `${number("count")} records are missing: ${field("why")}`;
    case "heartbeat_minute": return `${number("count")} heartbeats, longest gap ${duration(number("max_gap_ms"))}`;
    case "lookup_minute": return `${number("count")} look-ups${number("misses") > 0 ? `, ${number("misses")} without a route,` : ""} by ${field("client") || "others"}`;
    case "master_elected": {
      const before = event.fields["before_id"] ?? undefined;
      const unclean = event.fields["unclean"] === true ? ", unclean: messages may be lost" : "";
      return `replica ${event.broker_id ?? "?"} is master${before === undefined ? "" : ` instead of ${String(before)}`}, epoch ${number("master_epoch")} (${electionCause(event)})${unclean}`;
    }
    case "no_master_elected": return `no candidate for master${field("before_id") === "" ? "" : `: replica ${field("before_id")} is lost`}, epoch ${number("master_epoch")} (${electionCause(event)})`;
    case "sync_state_changed": return `in sync: ${ids(event, "in_sync")} (before: ${ids(event, "before_in_sync")})`;
    case "broker_id_assigned": return `id ${event.broker_id ?? "?"} assigned to ${event.addr ?? "?"}`;
    case "replica_moved": return `replica ${event.broker_id ?? "?"} moved from ${field("before_addr")} to ${event.addr ?? "?"}`;
    case "replicas_cleaned": return event.fields["removed_set"] === true ? "removed from the Controller" : `replicas removed from the Controller: ${ids(event, "broker_ids")}`;
    case "role_notified": return field("why") === "" ? `role change sent to ${event.addr ?? "?"}` : `role change not sent to ${event.addr ?? "?"}: ${field("why")}`;
    case "controller_leader": return `Controller node ${field("node")} ${event.fields["leads"] === true ? "leads" : "does not lead any more"}`;
    case "broker_set_state": return `known to the new leader: master ${field("master_id") || "none"}, epoch ${number("master_epoch")}, in sync: ${ids(event, "in_sync")}`;
    default: return Object.entries(event.fields).slice(0, 4).map(([key, value]) => `${key} ${String(value)}`).join(", ");
  }
}

function electionCause(event: LiveEvent): string {
  return ELECTION_CAUSE[event.cause ?? ""] ?? event.cause ?? "?";
}

function ids(event: LiveEvent, key: string): string {
  return String(event.fields[key] ?? "none");
}

/** Description of a burst: what happened to several brokers at the same time. */
export function describeGroup(event: LiveEvent, brokers: number): string {
  if (brokers < 2) return describe(event);
  switch (event.kind) {
    case "broker_up": return "joined";
    case "broker_returned": return "re-registered";
    case "broker_down": return `left: ${REASON[event.reason ?? ""] ?? event.reason ?? "?"}`;
    default: return describe(event);
  }
}

/** `rw read 8 write 8 at 0: 10.0.0.1:10911, 1: 10.0.0.2:10911`, the history's format for the part of one broker in a route. */
function parsePart(text: string | undefined): Map<string, string> | null {
  const found = /^([r-])([w-]) read (\d+) write (\d+)(?: flag (\d+))? at (.*)$/.exec(text ?? "");
  if (found === null) return null;
  const [, r, w, read, write, flag, addrs] = found;
  const parts = new Map<string, string>([
    ["", permission((r === "r" ? 4 : 0) | (w === "w" ? 2 : 0))], ["read queues", read ?? ""], ["write queues", write ?? ""],
  ]);
  if (flag !== undefined) parts.set("flag", flag);
  for (const one of (addrs ?? "").split(", ")) {
    const [id, addr] = one.split(": ");
    if (addr !== undefined) parts.set(role(Number(id)), addr);
  }
  return parts;
}

/** Description of one step in a route's history: only what changed. */
export function describeStep(before: string | undefined, after: string | undefined): string {
  const was = parsePart(before);
  const is = parsePart(after);
  const whole = (parts: Map<string, string>): string => [...parts].map(([key, value]) => (key === "" ? value : `${key} ${value}`)).join(", ");
  if (was !== null && is !== null) {
    const keys = [...new Set([...was.keys(), ...is.keys()])].filter((key) => was.get(key) !== is.get(key));
    return keys.map((key) => {
      const [old, fresh] = [was.get(key), is.get(key)];
      if (old === undefined) return `${key} added: ${fresh ?? ""}`;
      if (fresh === undefined) return `${key} removed: ${old}`;
      return `${key === "" ? "" : `${key} `}${old} → ${fresh}`;
    }).join(", ");
  }
  if (is !== null && before === undefined) return whole(is);
  if (was !== null && after === undefined) return `was ${whole(was)}`;
  return [before, after].filter((one) => one !== undefined).join(" → ");
}

export function role(id: number | undefined): string {
  return id === 0 ? "master" : `slave ${id ?? "?"}`;
}

/** Label of RocketMQ's permission bits. */
export function permission(perm: number): string {
  const read = (perm & 4) !== 0;
  const write = (perm & 2) !== 0;
  const words = read && write ? "read + write" : read ? "read only" : write ? "write only" : "no access";
  return (perm & 1) !== 0 ? `${words}, inherited` : words;
}

export const CREATED_ON_USE = "a broker creates retry and dead-letter topics when a consumer group first needs them; look-ups before that find no route.";

/** Retry and dead-letter topics: look-ups without a route are normal. */
export function isCreatedOnUse(topic: string): boolean {
  return topic.startsWith("%RETRY%") || topic.startsWith("%DLQ%");
}

export const REPORT_TITLES: Record<string, string> = {
  availability: "Availability", outages: "Outages", flaps: "Flaps", divergence: "Divergence", tradeoff: "Timeout advice", placement: "Placement", demand: "Demand",
  heartbeats: "Heartbeats", convergence: "Convergence", audit: "Audit",
};
