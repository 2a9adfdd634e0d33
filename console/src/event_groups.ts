/** Groups bursts of equal events. Pure. */

import type { LiveEvent } from "./api.ts";

export interface EventGroup {
  event: LiveEvent; // the newest event
  brokers: string[]; // all affected brokers
  count: number;
}

const WINDOW_MS = 5000;
const LOOK_BACK = 12; // groups in which an equal event is searched

/** Events that lists omit by default: per-minute counts, and registrations that change neither role nor permissions. */
export function isRoutine(event: LiveEvent): boolean {
  if (event.kind.endsWith("_minute") || event.kind === "mappings_changed") return true;
  return event.kind === "broker_changed" && event.fields["before_id"] === event.broker_id;
}

/** Events with the same key within seconds are one burst; null: never grouped. */
function burstKey(event: LiveEvent): string | null {
  if (event.broker === undefined) return null;
  switch (event.kind) {
    case "topics_changed": return JSON.stringify([event.kind, event.topics ?? [], event.counts ?? {}, event.cause ?? "", event.fields["writable_again"] ?? 0]);
    case "broker_up": case "broker_returned": return event.kind;
    case "broker_down": return `${event.kind} ${event.reason ?? ""}`;
    default: return null;
  }
}

const MOVES = new Set(["broker_up", "broker_down", "broker_returned"]); // their topics change at the same time

/** Input and output are newest first. Equal events of several brokers within seconds become one group. */
export function groupEvents(events: readonly LiveEvent[], limit = Infinity, routine = false): EventGroup[] {
  const moves = new Set(events.filter((one) => MOVES.has(one.kind)).map((one) => `${one.broker ?? ""} ${one.at}`));
  const groups: (EventGroup & { key: string | null; oldest: number })[] = [];
  for (const event of events) {
    if (!routine && (isRoutine(event) || (event.kind === "topics_changed" && moves.has(`${event.broker ?? ""} ${event.at}`)))) continue;
    const key = burstKey(event);
    const same = key === null ? undefined : groups.slice(-LOOK_BACK).find((one) => one.key === key && one.oldest - event.at <= WINDOW_MS);
    if (same !== undefined) {
      if (event.broker !== undefined && !same.brokers.includes(event.broker)) same.brokers.push(event.broker);
      same.oldest = event.at;
      same.count += 1;
      continue;
    }
    if (groups.length >= limit) break;
    groups.push({ event, brokers: event.broker === undefined ? [] : [event.broker], count: 1, key, oldest: event.at });
  }
  return groups.map(({ event, brokers, count }) => ({ event, brokers, count }));
}
