/** One event in a line, with links to its subject and its time. */

import type { JSX } from "preact";
import type { LiveEvent } from "../api.ts";
import { describeGroup, kindLabel, tone } from "../labels.ts";
import { brokerHref, topicHref } from "../url.ts";
import { Time } from "./components.tsx";
import { Sign } from "./icons.tsx";

export function Subject({ event }: { event: LiveEvent }): JSX.Element | null {
  if (event.broker !== undefined) return <a href={brokerHref(event.broker, { at: String(event.at) })}>{event.broker}</a>;
  if (event.topic !== undefined && event.topic !== "") return <a href={topicHref(event.topic, { at: String(event.at) })}>{event.topic}</a>;
  return null;
}

export function EventLine({ event, brokers = [] }: { event: LiveEvent; brokers?: string[] }): JSX.Element {
  return (
    <li data-key={event.seq}>
      <Sign tone={tone(event)} />
      <span class="clip grow" title={kindLabel(event.kind)}>{brokers.length > 1 ? <strong title={brokers.join("\n")}>{brokers.length} brokers</strong> : <Subject event={event} />} {describeGroup(event, brokers.length)}</span>
      <a class="muted small nowrap plain-link" href={`/events?at=${event.at}`}><Time ms={event.at} /></a>
    </li>
  );
}
