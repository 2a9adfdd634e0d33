/** Chooses the time to show: now, or a time in the past, as text (`03:12`, `yesterday 03:12`, `10m ago`). */

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { now } from "../live.ts";
import { parseTime, toInput, zoneName } from "../time.ts";
import { Note, Time } from "./components.tsx";
import { Icon } from "./icons.tsx";

const EXAMPLES = ["10m ago", "1h ago", "03:12", "yesterday 03:12"];

export function TimePicker({ at, onPick, label = "As of" }: { at: number | null; onPick: (at: number | null) => void; label?: string }): JSX.Element {
  const [open, setOpen] = useState(false);
  const [wrong, setWrong] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => { if (open) input.current?.focus(); }, [open]);
  if (at === null && !open) {
    return <button type="button" class="button" onClick={() => setOpen(true)} data-testid="past-picker"><Icon name="clock" />Go back in time</button>;
  }
  const pick = (text: string): void => {
    const ms = parseTime(text, now());
    setWrong(ms === null);
    if (ms !== null) onPick(Math.min(ms, now()));
  };
  return (
    <form class="row moment" onSubmit={(event) => { event.preventDefault(); pick(input.current?.value ?? ""); }}>
      <span class="muted small moment-label">{label}</span>
      <input ref={input} type="text" class="time-input" aria-label={`${label}, in ${zoneName(now())}: a time such as 03:12, yesterday 03:12 or 10m ago`} placeholder="03:12, yesterday 03:12, 10m ago"
        defaultValue={at === null ? "" : toInput(at)} key={at ?? "now"} list="times" spellcheck={false} autocomplete="off" aria-invalid={wrong} onInput={() => setWrong(false)}
        onChange={(event) => pick(event.currentTarget.value)} />
      <datalist id="times">{EXAMPLES.map((one) => <option key={one} value={one} />)}</datalist>
      {wrong ? <span class="small bad-text" role="alert">Not a time. Write 03:12, yesterday 03:12, 10m ago or 2026-11-16 03:12.</span> : null}
      {at === null ? null : <button type="button" class="button" onClick={() => { setOpen(false); onPick(null); }}><Icon name="clock" />Now</button>}
    </form>
  );
}

export function PastNote({ at }: { at: number }): JSX.Element {
  return <Note tone="info"><span data-testid="past">State at <strong><Time ms={at} /></strong> (<Time ms={at} how="ago" />).</span></Note>;
}
