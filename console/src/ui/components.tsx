/** Small components that all pages use. */

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { BrokerState, Certainty, ApiError } from "../api.ts";
import { now, useNow } from "../live.ts";
import { ago, clock, duration, moment, shortAge, utc, zoneName } from "../time.ts";
import { Icon, Sign, type IconName, type Tone } from "./icons.tsx";

export const TONE: Record<BrokerState, Tone> = { up: "ok", recovered: "info", suspected: "warn", down: "bad" };

export function Badge({ tone, children, title }: { tone: Tone; children: ComponentChildren; title?: string }): JSX.Element {
  return <span class={`badge ${tone}`} title={title}><Sign tone={tone} />{children}</span>;
}

export function StateBadge({ state }: { state: BrokerState }): JSX.Element {
  return <span class={`badge ${TONE[state]}`} data-state={state}><Sign tone={TONE[state]} />{state}</span>;
}

/** A time in the chosen zone; UTC on hover. */
export function Time({ ms, how = "moment" }: { ms: number | null; how?: "moment" | "clock" | "millis" | "ago" }): JSX.Element {
  if (ms === null || !Number.isFinite(ms)) return <span class="muted">–</span>;
  if (how === "ago") return <Ago ms={ms} />;
  const text = how === "clock" ? clock(ms) : how === "millis" ? clock(ms, true) : moment(ms, now());
  return <time dateTime={new Date(ms).toISOString()} title={utc(ms)}>{text}</time>;
}

function Ago({ ms }: { ms: number }): JSX.Element {
  const at = useNow();
  return <time dateTime={new Date(ms).toISOString()} title={`${utc(ms)} · ${moment(ms, at)} ${zoneName(ms)}`}>{ago(ms, at)}</time>;
}

/** Time since the last heartbeat, as a number and as a share of the timeout. */
export function HeartbeatAge({ seen, timeout, state }: { seen: number; timeout: number; state: BrokerState }): JSX.Element {
  const silent = Math.max(0, useNow() - seen);
  if (state === "down") return <span class="muted">–</span>;
  const share = Math.min(1, silent / Math.max(1, timeout));
  const tone = state === "suspected" || share > 0.5 ? "warn" : "ok";
  return (
    <span class="beat" title={`last heartbeat ${utc(seen)}; timeout ${duration(timeout)}`}>
      <span class="num">{shortAge(silent)}</span>
      <svg width="44" height="4" viewBox="0 0 44 4" preserveAspectRatio="none" aria-hidden="true">
        <rect class="fill-none" width="44" height="4" rx="2" />
        <rect class={`fill-${tone}`} width={Math.max(1.5, 44 * share)} height="4" rx="2" />
      </svg>
    </span>
  );
}

export function Panel({ title, aside, children, flush = false, class: more = "", id }: {
  title: ComponentChildren; aside?: ComponentChildren; children: ComponentChildren; flush?: boolean; class?: string; id?: string;
}): JSX.Element {
  return (
    <section class={`panel ${more}`} {...(id === undefined ? {} : { "aria-labelledby": id })}>
      <header><h2 id={id}>{title}</h2>{aside === undefined ? null : <div class="aside">{aside}</div>}</header>
      {flush ? children : <div class="in">{children}</div>}
    </section>
  );
}

export function Stat({ label, value, note, tone, href }: {
  label: string; value: ComponentChildren; note?: ComponentChildren; tone?: Tone; href?: string;
}): JSX.Element {
  const inside = <>
    <span class="stat-label">{tone === undefined ? null : <Sign tone={tone} />}{label}</span>
    <span class="stat-value num">{value}</span>
    {note === undefined ? null : <span class="stat-note">{note}</span>}
  </>;
  return href === undefined ? <div class="stat">{inside}</div> : <a class="stat" href={href}>{inside}</a>;
}

export function Note({ tone, children }: { tone: Tone; children: ComponentChildren }): JSX.Element {
  const icon: IconName = tone === "ok" ? "check" : tone === "info" || tone === "none" ? "info" : "alert";
  return <div class={`note ${tone}`} role={tone === "bad" ? "alert" : "note"}><Icon name={icon} /><div class="grow">{children}</div></div>;
}

export function Problem({ problem, again }: { problem: ApiError; again?: () => void }): JSX.Element {
  if (problem.code === "login-required") {
    return <Note tone="info"><div class="row"><span class="grow"><strong>Log in to continue.</strong> This server requires a login.</span>
      <button type="button" class="button primary" onClick={() => dispatchEvent(new Event("routebook-login"))}>Log in</button></div></Note>;
  }
  return (
    <Note tone={problem.status === 503 ? "warn" : "bad"}>
      <strong>{sentence(problem.message)}</strong>
      {problem.hint === null ? null : <div><WithLinks text={sentence(problem.hint)} /></div>}
      {again === undefined ? null : <button type="button" class="button top-gap" onClick={again}>Try again</button>}
    </Note>
  );
}

const PAGES: Record<string, [string, string]> = {
  "/v1/peers": ["/compare", "Compare"], "/v1/brokers": ["/brokers", "Brokers"], "/v1/health": ["/", "Overview"], "/v1/settings": ["/admin?tab=settings", "Settings"], "/v1/topics?q=": ["/topics", "Topics"],
};

/** A text in which paths of the API become links to the pages that show the same. */
export function WithLinks({ text }: { text: string }): JSX.Element {
  const parts = text.split(/(\/v1\/(?:peers|brokers|health|settings|topics\?q=))/);
  return <>{parts.map((part, index) => {
    const page = PAGES[part];
    return page === undefined ? part : <a key={index} href={page[0]}>{page[1]}</a>;
  })}</>;
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  return <div class="empty"><p>{title}</p>{children === undefined ? null : <div class="muted">{children}</div>}</div>;
}

/** Placeholder lines while data loads. */
export function Loading({ lines = 3 }: { lines?: number }): JSX.Element {
  return <div class="waiting" role="status" aria-label="loading">{Array.from({ length: lines }, (_, at) => <span key={at} />)}</div>;
}

/** Warns if the answer about the past is incomplete. */
export function CertaintyNote({ certainty }: { certainty: Certainty | null | undefined }): JSX.Element | null {
  if (certainty === null || certainty === undefined) return null;
  if (!certainty.known) return <Note tone="warn">The journal does not go back to this time.</Note>;
  if (!certainty.observed) return <Note tone="warn">This NameServer was not running at this time; the last known state is shown.</Note>;
  if (certainty.events_may_be_missing) return <Note tone="warn">The journal has a hole before this time; changes in it are not shown.</Note>;
  return null;
}

export function sentence(text: string): string {
  const first = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(first) ? first : `${first}.`;
}

export function count(value: number): string {
  return value.toLocaleString("en-US").replaceAll(",", "\u202f");
}

export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export function rate(value: number): string {
  return value >= 100 ? count(Math.round(value)) : value >= 10 || value === 0 ? value.toFixed(0) : value.toFixed(1);
}

/** A percentage that is never rounded up to 100. */
export function percent(share: number): string {
  if (share >= 1) return "100 %";
  const text = (Math.floor(share * 1e5) / 1e3).toFixed(share >= 0.999 ? 3 : share >= 0.99 ? 2 : 1);
  return `${text} %`;
}

/** Grades of availability: 100 %, from 99.9 %, from 99 %, less. */
export function shareTone(share: number | null): Tone {
  return share === null ? "none" : share >= 0.999 ? "ok" : share >= 0.99 ? "warn" : "bad";
}

/** The down time of a day in red, on a logarithmic scale: each missing nine is a quarter of the bar. */
export function ShareBar({ share }: { share: number }): JSX.Element {
  const down = share >= 1 ? 0 : Math.max(3, 72 * (1 + Math.log10(1 - share) / 4));
  return <svg width="72" height="6" viewBox="0 0 72 6" aria-hidden="true"><rect class="fill-ok" width="72" height="6" rx="2" />{down === 0 ? null : <rect class="fill-bad" x={72 - down} width={down} height="6" rx="2" />}</svg>;
}

/** The width of an element, kept up to date. */
export function useWidth(): [{ current: HTMLDivElement | null }, number] {
  const ref = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const element = ref.current;
    if (element === null) return;
    setWidth(element.clientWidth);
    const watch = new ResizeObserver(() => setWidth(element.clientWidth));
    watch.observe(element);
    return () => watch.disconnect();
  }, []);
  return [ref, width];
}

const narrow = matchMedia("(max-width: 760px)");
const cramped = matchMedia("(max-width: 1220px)");

/** At phone width. */
export function useNarrow(): boolean {
  return useMedia(narrow);
}

/** Too narrow for tables with many columns. */
export function useCramped(): boolean {
  return useMedia(cramped);
}

function useMedia(media: MediaQueryList): boolean {
  const [is, setIs] = useState(media.matches);
  useEffect(() => {
    const update = (): void => setIs(media.matches);
    media.addEventListener("change", update);
    return () => media.removeEventListener("change", update);
  }, []);
  return is;
}

/** A region that scrolls sideways, with the keyboard too. */
export function Scroll({ label, class: more = "", children }: { label: string; class?: string; children: ComponentChildren }): JSX.Element {
  return <div class={`grid-scroll ${more}`} tabIndex={0} role="region" aria-label={label}>{children}</div>;
}

/** A group of buttons of which one is selected. */
export function Choice<T extends string>({ label, value, options, onPick }: {
  label: string; value: T; options: readonly { value: T; label: ComponentChildren }[]; onPick: (value: T) => void;
}): JSX.Element {
  return (
    <div class="choice" role="group" aria-label={label}>
      {options.map((one) => (
        <button type="button" key={one.value} aria-pressed={one.value === value} onClick={() => onPick(one.value)}>{one.label}</button>
      ))}
    </div>
  );
}

export function Copy({ text, label = "Copy" }: { text: string; label?: string }): JSX.Element | null {
  const [done, setDone] = useState(false);
  if (!isSecureContext) return null; // the clipboard needs a secure context
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(() => { setDone(true); setTimeout(() => setDone(false), 1500); }, () => undefined);
  };
  return <button type="button" class="button quiet" onClick={copy} aria-label={`${label}: ${text}`}><Icon name={done ? "check" : "copy"} />{done ? "Copied" : label}</button>;
}

/** A command, or the content of a file, with a button that copies it. */
export function Command({ text }: { text: string }): JSX.Element {
  return <div class="copied"><code class="command" tabIndex={0}>{text}</code><Copy text={text} /></div>;
}

/** Marks a broker or topic that accepts no writes. */
export function ReadOnly(): JSX.Element {
  return <Badge tone="warn" title="no write permission">read-only</Badge>;
}

export function CopyLink(): JSX.Element | null {
  const [done, setDone] = useState(false);
  if (!isSecureContext) return null; // the clipboard needs a secure context
  const copy = (): void => {
    navigator.clipboard.writeText(location.href).then(() => { setDone(true); setTimeout(() => setDone(false), 1500); }, () => undefined);
  };
  return <button type="button" class="button quiet" onClick={copy}><Icon name={done ? "check" : "link"} />{done ? "Copied" : "Copy link"}</button>;
}
