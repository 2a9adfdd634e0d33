/** Groups equal events, for short lists. Pure. */

import type { LiveEvent } from "./api.ts";

export interface EventGroup {
  event: LiveEvent; // the newest event
  brokers: string[]; // all affected brokers
}

const WINDOW_MS = 5000;

/** Events that short lists omit: per-minute counts, unchanged roles. */
function quiet(event: LiveEvent): boolean {
  return event.kind.endsWith("_minute") || (event.kind === "broker_changed" && event.fields["before_id"] === event.broker_id);
}

function what(event: LiveEvent): string {
  return JSON.stringify([event.kind, event.topics ?? [], event.counts ?? {}, event.cause ?? ""]);
}

/** Input and output are newest first. The same topic change on several brokers within seconds becomes one group. */
export function groupEvents(events: readonly LiveEvent[], limit: number): EventGroup[] {
  const groups: (EventGroup & { key: string })[] = [];
  for (const event of events) {
    if (quiet(event)) continue;
    const key = what(event);
    const same = event.kind === "topics_changed" && event.broker !== undefined
      ? groups.find((one) => one.key === key && one.event.at - event.at <= WINDOW_MS) : undefined;
    if (same !== undefined) {
      if (event.broker !== undefined && !same.brokers.includes(event.broker)) same.brokers.push(event.broker);
      continue;
    }
    if (groups.length >= limit) break;
    groups.push({ event, brokers: event.broker === undefined ? [] : [event.broker], key });
  }
  return groups.map(({ event, brokers }) => ({ event, brokers }));
}
