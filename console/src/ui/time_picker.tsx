/** Chooses the time to show: now, or a time in the past. */

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { now } from "../live.ts";
import { fromInput, toInput } from "../time.ts";
import { Note, Time } from "./components.tsx";
import { Icon } from "./icons.tsx";

export function TimePicker({ at, onPick, label = "As of" }: { at: number | null; onPick: (at: number | null) => void; label?: string }): JSX.Element {
  const [open, setOpen] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => { if (open) input.current?.focus(); }, [open]);
  if (at === null && !open) {
    return <button type="button" class="button" onClick={() => setOpen(true)} data-testid="past-picker"><Icon name="clock" />Go back in time</button>;
  }
  return (
    <span class="row moment">
      <span class="muted small moment-label">{label}</span>
        <input ref={input} type="datetime-local" step="1" aria-label={label} value={toInput(at ?? now())} max={toInput(now())} key={at ?? "now"}
          onChange={(event) => { const ms = fromInput(event.currentTarget.value); if (ms !== null) onPick(Math.min(ms, now())); }} />
      {at === null ? null : <button type="button" class="button" onClick={() => { setOpen(false); onPick(null); }}><Icon name="clock" />Now</button>}
    </span>
  );
}

export function PastNote({ at }: { at: number }): JSX.Element {
  return <Note tone="info"><span data-testid="past">State at <strong><Time ms={at} /></strong> (<Time ms={at} how="ago" />).</span></Note>;
}
