/** Events that tell one story, told once: for lists that have room for a few only. Pure. */

import type { LiveEvent } from "./api.ts";

export interface Story {
  event: LiveEvent; // the newest of them
  brokers: string[]; // all that it happened on, if several
}

const TOGETHER_MS = 5000;

/** Nothing that somebody must know: a broker that renews its version, heartbeats, look-ups. */
function quiet(event: LiveEvent): boolean {
  return event.kind.endsWith("_minute") || (event.kind === "broker_changed" && event.fields["before_id"] === event.broker_id);
}

function what(event: LiveEvent): string {
  return JSON.stringify([event.kind, event.topics ?? [], event.counts ?? {}, event.cause ?? ""]);
}

/** Newest first in, newest first out: the same change of topics on several brokers within seconds is one story. */
export function gather(events: readonly LiveEvent[], most: number): Story[] {
  const stories: (Story & { key: string })[] = [];
  for (const event of events) {
    if (quiet(event)) continue;
    const key = what(event);
    const same = event.kind === "topics_changed" && event.broker !== undefined
      ? stories.find((one) => one.key === key && one.event.at - event.at <= TOGETHER_MS) : undefined;
    if (same !== undefined) {
      if (event.broker !== undefined && !same.brokers.includes(event.broker)) same.brokers.push(event.broker);
      continue;
    }
    if (stories.length >= most) break;
    stories.push({ event, brokers: event.broker === undefined ? [] : [event.broker], key });
  }
  return stories.map(({ event, brokers }) => ({ event, brokers }));
}
