/** Icons. Each state has its own shape, so that colour is never the only difference. */

import type { JSX } from "preact";

const PATHS = {
  overview: "M2 9h4V2H2zm8 5h4V7h-4zM2 14h4v-2.5H2zM10 4.5h4V2h-4z",
  brokers: "M2.5 2.5h11v4h-11zm0 7h11v4h-11zM5 4.5h.01M5 11.5h.01M8 4.5h3M8 11.5h3",
  topics: "M3 8h3.5c3 0 2-4.5 5-4.5H13M6.5 8H13M6.5 8c3 0 2 4.5 5 4.5H13M2.6 8h.01",
  controller: "M2.5 12.5h11M3 10.5 2 4.5 5.5 7 8 2.5 10.5 7 14 4.5l-1 6z",
  compare: "M6 2.5v11M10 2.5v11M2.5 5 6 5M2.5 9H6M10 7h3.5M10 11h3.5",
  events: "M2.5 3.5h11M2.5 8h7M2.5 12.5h9",
  reports: "M2.5 13.5h11M4 13.5V8.5M8 13.5v-11M12 13.5V6",
  admin: "M8 1.8 13.2 4v4c0 3.2-2.2 5.2-5.2 6.3C5 13.2 2.8 11.2 2.8 8V4zM5.8 8l1.6 1.6L10.4 6.4",
  search: "M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zm3.6-1.4 3.4 3.4",
  sun: "M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1.1 1.1M11.9 11.9 13 13M13 3l-1.1 1.1M4.1 11.9 3 13",
  moon: "M13.5 9.6A5.8 5.8 0 0 1 6.4 2.5a5.8 5.8 0 1 0 7.1 7.1z",
  auto: "M8 2.2a5.8 5.8 0 1 0 0 11.6zm0 0a5.8 5.8 0 0 1 0 11.6z",
  up: "M8 12.5v-9M4.5 7 8 3.5 11.5 7",
  down: "M8 3.5v9M4.5 9 8 12.5 11.5 9",
  left: "M9.8 3.5 5.3 8l4.5 4.5",
  right: "M6.2 3.5 10.7 8l-4.5 4.5",
  pause: "M5.5 3v10M10.5 3v10",
  play: "M5 3.2v9.6L12.5 8z",
  link: "M6.8 9.2a2.6 2.6 0 0 0 3.7 0l2.1-2.1a2.6 2.6 0 0 0-3.7-3.7L8 4.3M9.2 6.8a2.6 2.6 0 0 0-3.7 0L3.4 8.9a2.6 2.6 0 0 0 3.7 3.7l.9-.9",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  user: "M8 8a3 3 0 1 0 0-6 3 3 0 0 0 0 6zM2.5 14.2c.7-2.7 2.8-4 5.5-4s4.8 1.3 5.5 4",
  download: "M8 2.5v7.5M4.8 7 8 10.2 11.2 7M3 13.5h10",
  clock: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 4.8V8l2.2 1.6",
  check: "M3 8.5 6.5 12 13 4.5",
  cross: "M4 4l8 8M12 4l-8 8",
  alert: "M8 2 14.5 13.5h-13zM8 6.5v3.2M8 11.6v.01",
  info: "M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 7.4v3.4M8 5.2v.01",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  change: "M2.5 9.5c1.8-3 3.4-3 5.5-1.5s3.7 1.5 5.5-1.5",
  key: "M10.5 7.5a3 3 0 1 0-2.6 1.5L5 12v1.5H3V12l5-4.6M10.8 4.7h.01",
  gear: "M8 10.2a2.2 2.2 0 1 0 0-4.4 2.2 2.2 0 0 0 0 4.4zM8 1.8v1.7M8 12.5v1.7M1.8 8h1.7M12.5 8h1.7M3.6 3.6l1.2 1.2M11.2 11.2l1.2 1.2M12.4 3.6l-1.2 1.2M4.8 11.2l-1.2 1.2",
  shield: "M8 1.8 13.2 4v4c0 3.2-2.2 5.2-5.2 6.3C5 13.2 2.8 11.2 2.8 8V4z",
  trash: "M3 4.5h10M6.5 4.5V2.8h3v1.7M4.5 4.5l.6 8.7h5.8l.6-8.7",
  power: "M8 2v5.5M4.6 4.2a5 5 0 1 0 6.8 0",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }): JSX.Element {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 16 16" fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
      <path d={PATHS[name]} />
    </svg>
  );
}

export type Tone = "ok" | "warn" | "bad" | "info" | "none";

/** Full circle: ok. Triangle: warning. Cross in a square: bad. Half circle: recovered. Ring: neutral. */
export function Sign({ tone, size = 10 }: { tone: Tone; size?: number }): JSX.Element {
  const shape = {
    ok: <circle cx="5" cy="5" r="4" fill="currentColor" />,
    warn: <path d="M5 .8 9.6 9.2H.4z" fill="currentColor" />,
    bad: <path d="M1.5 1.5l7 7m0-7-7 7" stroke="currentColor" stroke-width="2.4" stroke-linecap="round" />,
    info: <g><circle cx="5" cy="5" r="3.6" fill="none" stroke="currentColor" stroke-width="1.3" /><path d="M5 1.4a3.6 3.6 0 0 1 0 7.2z" fill="currentColor" /></g>,
    none: <circle cx="5" cy="5" r="3.5" fill="none" stroke="currentColor" stroke-width="1.5" />,
  }[tone];
  return <svg class={`sign ${tone}`} width={size} height={size} viewBox="0 0 10 10" aria-hidden="true">{shape}</svg>;
}
