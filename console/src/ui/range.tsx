/** A range of time: chosen by preset, typed, or dragged in a chart. */

import type { JSX, TargetedPointerEvent } from "preact";
import { useRef, useState } from "preact/hooks";
import { now } from "../live.ts";
import { parseTime, SECOND, toInput, zoneName } from "../time.ts";
import { Icon } from "./icons.tsx";

const MIN_DRAG_PX = 6;

export interface Brush {
  /** The dragged range in pixels of the chart, while the pointer is down. */
  dragged: [number, number] | null;
  handlers: {
    onPointerDown: (event: TargetedPointerEvent<SVGSVGElement>) => void;
    onPointerMove: (event: TargetedPointerEvent<SVGSVGElement>) => void;
    onPointerUp: (event: TargetedPointerEvent<SVGSVGElement>) => void;
    onPointerCancel: () => void;
  };
  /** Whether the click that follows belongs to a drag. */
  wasDrag: () => boolean;
}

/** Drag in a chart to choose a range; `timeAt` converts pixels to ms. Touch scrolls the page as usual. */
export function useBrush(timeAt: (x: number) => number, onZoom: ((from: number, to: number) => void) | undefined): Brush {
  const start = useRef<number | null>(null);
  const ended = useRef(false);
  const [dragged, setDragged] = useState<[number, number] | null>(null);
  const position = (event: TargetedPointerEvent<SVGSVGElement>): number => event.clientX - event.currentTarget.getBoundingClientRect().left;
  return {
    dragged,
    wasDrag: () => ended.current,
    handlers: {
      onPointerDown: (event) => {
        ended.current = false;
        start.current = onZoom === undefined || event.pointerType === "touch" || event.button !== 0 ? null : position(event);
      },
      onPointerMove: (event) => {
        if (start.current === null) return;
        const at = position(event);
        if (Math.abs(at - start.current) < MIN_DRAG_PX && dragged === null) return;
        if (!event.currentTarget.hasPointerCapture(event.pointerId)) event.currentTarget.setPointerCapture(event.pointerId);
        setDragged([Math.min(start.current, at), Math.max(start.current, at)]);
      },
      onPointerUp: () => {
        start.current = null;
        if (dragged === null) return;
        ended.current = true;
        setDragged(null);
        const [from, to] = [Math.round(timeAt(dragged[0])), Math.round(timeAt(dragged[1]))];
        if (to - from >= SECOND) onZoom?.(from, to);
      },
      onPointerCancel: () => { start.current = null; setDragged(null); },
    },
  };
}

/** Two typed times; without a range, a button that opens them. */
export function RangePicker({ from, to, chosen, onPick }: { from: number; to: number; chosen: boolean; onPick: (range: [number, number] | null) => void }): JSX.Element {
  const [open, setOpen] = useState(false);
  const [wrong, setWrong] = useState(false);
  if (!chosen && !open) return <button type="button" class="button quiet" onClick={() => setOpen(true)} data-testid="range"><Icon name="clock" />Range…</button>;
  const field = (name: string, label: string, value: number): JSX.Element => (
    <input type="text" class="range-input" name={name} key={value} defaultValue={toInput(value)} aria-label={`${label}, in ${zoneName(now())}`} spellcheck={false} autocomplete="off" aria-invalid={wrong} onInput={() => setWrong(false)} />
  );
  return (
    <form class="row" onSubmit={(event) => {
      event.preventDefault();
      const given = new FormData(event.currentTarget);
      const [begin, end] = [parseTime(String(given.get("from")), now()), parseTime(String(given.get("to")), now())];
      const valid = begin !== null && end !== null && begin < end;
      setWrong(!valid);
      if (valid) onPick([begin, Math.min(end, now())]);
    }}>
      {field("from", "From", from)}<span class="muted small">to</span>{field("to", "To", to)}
      <button type="submit" class="button">Show</button>
      <button type="button" class="button quiet" onClick={() => { setOpen(false); onPick(null); }}>Reset</button>
      {wrong ? <span class="small bad-text" role="alert">Write two times, the earlier one first: 03:12, yesterday 03:12, 2h ago.</span> : null}
    </form>
  );
}
