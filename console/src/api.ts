/** Types of the HTTP API and the functions that call it. */

export type Condition = "ok" | "degraded" | "failed";
export type BrokerState = "up" | "recovered" | "suspected" | "down";

export interface BrokerRow {
  key: string;
  name: string;
  id: number;
  addr: string;
  cluster: string;
  zone: string | null;
  role: "master" | "slave" | "acting";
  state: BrokerState;
  last_seen_ms: number;
  timeout_ms: number;
  version: string | null;
  data_version: number | null;
  topics: number;
  since_ms: number | null;
  down_at_ms: number | null;
  reason: string | null;
  read_only: boolean;
}

export interface Overview {
  at_ms: number;
  ready: boolean;
  condition: Condition;
  parts: Record<string, { condition: Condition; says: string }>;
  clusters: number;
  groups: number;
  topics: number;
  brokers: { up: number; recovered: number; suspected: number; down: number };
  masters_missing: string[];
  masters_missing_total: number;
  topics_lost: string[];
  topics_lost_total: number;
  lookups_per_s: number;
  misses_per_s: number;
  requests_per_s: number;
  protection: { active: boolean; silent: number; since_ms: number | null };
  peers: { total: number; agrees: number; differs: number; diverged: number; unreachable: number } | null;
  journal: { state: string; last_seq: number; durable_seq: number; lag_ms: number } | null;
  connections: number;
  consoles: number;
}

export type Scalar = string | number | boolean | null;

export interface LiveEvent {
  seq: number;
  at: number;
  kind: string;
  broker?: string;
  broker_id?: number;
  addr?: string;
  cluster?: string;
  reason?: string;
  cause?: string;
  topic?: string;
  topics?: string[];
  counts?: Record<string, number>;
  peer?: string;
  who?: string;
  code?: number;
  fields: Record<string, Scalar>;
}

export interface Hello {
  type: "hello";
  ns: string;
  boot: string;
  version: string;
  listen: string;
  started_at_ms: number;
  now_ms: number;
  seq: number;
}

export type Live =
  | Hello
  | { type: "snapshot"; at_ms: number; overview: Overview; brokers: BrokerRow[] }
  | { type: "overview"; overview: Overview }
  | { type: "brokers"; at_ms: number; changed: BrokerRow[]; gone: string[] }
  | { type: "beats"; at_ms: number; seen: Record<string, number> }
  | { type: "events"; events: LiveEvent[] }
  | { type: "missed"; first: number; last: number; why: string }
  | { type: "dropped"; resume_after: number; why: string }
  | { type: "stopping"; resume_after: number };

export interface Certainty {
  known: boolean;
  observed: boolean;
  events_may_be_missing: boolean;
  missing: { first_seq: number; last_seq: number; why: string }[];
  extent: { first_seq: number; last_seq: number; from_ms: number; to_ms: number } | null;
}

export interface Cause {
  seq: number;
  at_ms: number;
  kind: string;
  why?: string;
  peer?: string;
  who?: string;
}

export interface StripPoint {
  at_ms: number;
  brokers: number | null;
  ups: number;
  downs: number;
  changes: number;
  observed: boolean;
}

export interface Strip {
  from_ms: number;
  to_ms: number;
  step_ms: number;
  points: StripPoint[];
  certainty: Certainty;
}

export interface Records {
  records: LiveEvent[];
  first_seq: number | null;
  last_seq: number | null;
  more: boolean;
  scanned: number;
  scanned_to: number | null;
}

export interface TopicSummary {
  name: string;
  brokers: number;
  read_queues: number;
  write_queues: number;
}

export interface TopicSearch {
  q: string;
  total: number;
  matches: number;
  topics: TopicSummary[];
  past: string[];
}

export interface TopicsPage {
  total: number;
  topics: TopicSummary[];
  next: string | null;
  certainty?: Certainty; // of a past time
}

export interface Session {
  broker_id: number;
  addr: string;
  from_ms: number;
  to_ms: number | null;
  began: string;
  ended: string | null;
  planned: boolean | null;
  peer: string | null;
  who: string | null;
}

export interface BrokerDay {
  day: string;
  observed_ms: number;
  up_ms: number;
  planned_down_ms: number;
  outages: number;
  planned_outages: number;
}

export interface BrokerSessions {
  broker: string;
  from_ms: number;
  to_ms: number;
  now_ms: number;
  members: { broker_id: number; addr: string; cluster: string; sessions: Session[]; days: BrokerDay[] }[];
  nameserver: { from_ms: number; to_ms: number | null; ended: "stopped" | "crashed" | null }[];
  certainty: Certainty;
}

export interface BrokerBeats {
  broker: string;
  since_ms: number;
  members: {
    addr: string;
    cluster: string;
    beats: number;
    gap_p50_ms: number | null;
    gap_p99_ms: number | null;
    gap_max_ms: number;
    minutes: { minute_ms: number; beats: number; max_gap_ms: number }[];
  }[];
}

export interface BrokerLoss {
  broker: string;
  topics: number;
  only_here: { total: number; names: string[] };
  writes_only_here: { total: number; names: string[] };
  write_queues: number;
  read_queues: number;
  members: number;
  has_other_members: boolean;
  down_at_ms: number | null;
}

export interface Why {
  topic: string;
  at_ms: number;
  has_route: boolean;
  state: "available" | "reduced" | "read_only" | "none" | "unknown";
  summary: string;
  cause: { kind: string; broker: string | null; text: string; at_ms: number | null; seq: number | null; peer: string | null; who: string | null } | null;
  evidence: { text: string; at_ms: number | null; seq: number | null }[];
  advice: string;
  brokers: string[];
  valid_from_ms: number | null;
  valid_to_ms: number | null;
  certainty: Certainty;
}

export interface MaintenancePlan {
  broker: string;
  cluster: string;
  at_ms: number;
  safe: boolean;
  topics: number;
  topics_without_broker: string[];
  topics_without_writes: string[];
  write_queues: number;
  members: number;
  is_wiped: boolean;
  reasons: { code: string; blocks: boolean; text: string }[];
  steps: string[];
}

export interface TopicDemand {
  topic: string;
  since_ms: number;
  to_ms: number;
  lookups: number;
  misses: number;
  bytes: number;
  clients: {
    client: string;
    language: string;
    version: string | null;
    lookups: number;
    misses: number;
    bytes: number;
    last_minute_ms: number;
  }[];
  others: number;
}

export interface Misses {
  since_ms: number;
  to_ms: number;
  topics: { topic: string; misses: number; lookups: number; clients: number; exists: boolean }[];
}

export interface Setting {
  key: string;
  value: string;
  default: string;
  group: string;
  changes: "at run time" | "at start" | "never";
  values: string;
  note: string;
  origin: string | null;
}

export interface RouteBroker {
  name: string;
  cluster: string;
  acting_master: boolean;
  zone: string | null;
  addrs: Record<string, string>;
}

export interface RouteQueues {
  broker: string;
  perm: number;
  readable: boolean;
  writable: boolean;
  read_queues: number;
  write_queues: number;
  system_flag: number;
}

export interface Route {
  brokers: RouteBroker[];
  queues: RouteQueues[];
  filter_servers: Record<string, string[]>;
  static_mappings: Record<string, { epoch: number; total_queues: number; scope: string | null; queues: Record<string, number> }>;
  order_config: string | null;
}

export interface RouteAnswer {
  topic: string;
  at_ms: number;
  route: Route | null;
  past: { valid_from_ms: number | null; valid_to_ms: number | null; cause: Cause | null; certainty: Certainty } | null;
}

export interface RouteVersion {
  valid_from_ms: number;
  valid_to_ms: number | null;
  cause: Cause;
  steps: { broker: string; change: string; before?: string; after?: string }[];
  brokers: string[];
  read_queues: number;
  write_queues: number;
}

export interface RouteTimeline {
  topic: string;
  versions: RouteVersion[];
  more: boolean;
  certainty: Certainty;
}

export interface PastGroup {
  name: string;
  cluster: string;
  acting_master: boolean;
  zone: string | null;
  addrs: Record<string, string>;
  since_ms: number | null;
}

export interface PastBrokers {
  at_ms: number;
  groups: PastGroup[];
  certainty: Certainty;
}

export interface Disagreement {
  kind: string;
  subject: string;
  values: Record<string, string | null>;
  topics?: string[];
  stale?: string[];
  because?: string;
}

export interface PeerStatus {
  peer: string;
  state: "unknown" | "agrees" | "differs" | "diverged" | "unreachable";
  since_ms: number | null;
  checked_ms: number | null;
  by: string | null;
  requests: number;
  rounds: number;
  failures: number;
  problem: string | null;
  total: number;
  groups: number;
  lasting: number;
  differences: Disagreement[];
}

export interface Compared {
  address: string;
  at_ms: number;
  took_ms: number;
  agree: boolean;
  compared: { brokers: number; topics: number };
  complete: boolean;
  differences: Disagreement[];
  total: number;
  groups: number;
}

export interface LoginSession {
  authentication: boolean;
  who: string | null;
  admin: boolean;
  access: string[];
  limits: string[];
  csrf: string | null;
  expires_at_ms: number | null;
  hint: string | null;
}

export interface AdminAnswer {
  action: string;
  dry_run: boolean;
  done: boolean;
  changes: { what: string; before: string | null; after: string | null }[];
  total: number;
  notes: string[];
  seq: number | null;
}

/** An error response of the server. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string | null,
    message: string,
    readonly hint: string | null,
    readonly command: string | null = null,
  ) {
    super(message);
  }
}

interface ErrorBody {
  error?: unknown;
  hint?: unknown;
  code?: unknown;
  command?: unknown;
}

const text = (value: unknown): string | null => (typeof value === "string" && value !== "" ? value : null);

async function ask<T>(path: string, init: RequestInit): Promise<T> {
  let answer: Response;
  try {
    answer = await fetch(path, { credentials: "same-origin", ...init });
  } catch (problem) {
    if (problem instanceof DOMException && problem.name === "AbortError") throw problem;
    throw new ApiError(0, "unreachable", "the server does not respond", "this page reconnects automatically");
  }
  const body: unknown = await answer.json().catch(() => null);
  if (answer.ok) return body as T;
  const error = (body ?? {}) as ErrorBody;
  const problem = new ApiError(
    answer.status, text(error.code), text(error.error) ?? `the server responded with status ${answer.status}`, text(error.hint), text(error.command));
  if (problem.code === "login-required") dispatchEvent(new Event("routebook-login"));
  throw problem;
}

export function get<T>(path: string, query: Record<string, string | number | readonly string[] | null | undefined> = {}, signal?: AbortSignal): Promise<T> {
  const given = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (Array.isArray(value)) for (const one of value) given.append(key, String(one));
    else if (value !== null && value !== undefined && value !== "") given.set(key, String(value));
  }
  const text = given.toString();
  return ask<T>(text === "" ? path : `${path}?${text}`, signal === undefined ? {} : { signal });
}

let csrf: string | null = null;

export async function session(): Promise<LoginSession> {
  return keep(await get<LoginSession>("/v1/session"));
}

function keep(found: LoginSession): LoginSession {
  csrf = found.csrf;
  return found;
}

export async function login(access_key: string, secret_key: string): Promise<LoginSession> {
  return keep(await send<LoginSession>("POST", "/v1/session", { access_key, secret_key }));
}

export async function logout(): Promise<LoginSession> {
  return keep(await send<LoginSession>("DELETE", "/v1/session"));
}

/** Send a write with the session's CSRF token; a rejected token is fetched again once. */
export async function send<T>(method: "POST" | "DELETE", path: string, body?: unknown): Promise<T> {
  const once = (): Promise<T> => {
    const headers: Record<string, string> = {};
    if (body !== undefined) headers["content-type"] = "application/json";
    if (csrf !== null) headers["x-routebook-csrf"] = csrf;
    return ask<T>(path, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  };
  try {
    return await once();
  } catch (problem) {
    if (!(problem instanceof ApiError) || problem.code !== "csrf") throw problem;
    await session();
    return once();
  }
}

export const name = encodeURIComponent;

export interface ControllerOverview {
  at_ms: number;
  enabled: boolean;
  node: {
    group: string; node: string; address: string; engine: string; is_leader: boolean; leader: string | null; problem: string | null; unclean_elections: boolean;
    live_brokers: number; peers: { id: string; address: string; leads: boolean; is_self: boolean }[];
  } | null;
  sets: number;
  sets_without_master: number;
  replicas_out_of_sync: number;
}

export interface ControllerReplica {
  id: number;
  addr: string;
  is_master: boolean;
  in_sync: boolean;
  alive?: boolean;
  epoch?: number | null;
  max_offset?: number | null;
  last_heartbeat_ms?: number | null;
}

export interface ControllerSet {
  broker: string;
  cluster: string;
  master_id: number | null;
  master_addr: string | null;
  master_epoch: number;
  sync_state_epoch: number;
  replicas: ControllerReplica[];
  since_ms?: number | null;
  cause?: Cause | null;
}

export interface ControllerSets {
  at_ms: number;
  sets: ControllerSet[];
  past: { sets: ControllerSet[]; led: boolean; certainty: Certainty } | null;
}

export interface Election {
  seq: number;
  at_ms: number;
  kind: string;
  cluster: string;
  broker: string;
  cause: string;
  master_id: number | null;
  master_addr: string | null;
  before_id: number | null;
  before_addr: string | null;
  master_epoch: number;
  in_sync: number[];
  before_in_sync: number[];
  unclean: boolean;
  lost_at_ms: number | null;
  candidates: { id: number; alive: boolean; epoch: number; max_offset: number; priority: number }[];
  peer: string | null;
  who: string | null;
}

export interface Elections {
  elections: Election[];
  more: boolean;
  certainty: Certainty;
}
