/** Timeline with one lane per broker: up, down, and not observed (hatched). */

import type { JSX } from "preact";
import { now } from "../live.ts";
import { duration, marks, moment } from "../time.ts";
import { useWidth } from "./components.tsx";
import { useBrush } from "./range.tsx";
import type { Tone } from "./icons.tsx";

export interface Span {
  from: number;
  to: number;
  tone: Tone;
  title: string;
}

export interface Lane {
  key: string;
  label: string;
  spans: Span[];
}

const LANE = 30;
const MIN_OUTAGE_PX = 3; // an outage of a minute is visible in a month

export function Timeline({ label, lanes, from, to, unseen, at, onPick, onZoom }: {
  label: string; lanes: Lane[]; from: number; to: number; unseen: { from: number; to: number }[]; at: number | null; onPick?: (ms: number) => void; onZoom?: (from: number, to: number) => void;
}): JSX.Element {
  const [ref, width] = useWidth();
  const wide = width > 560;
  const left = wide ? 170 : 0;
  const inner = Math.max(10, width - left - 2);
  const laneHeight = wide ? LANE : LANE + 18;
  const high = lanes.length * laneHeight;
  const x = (ms: number): number => left + ((Math.max(from, Math.min(to, ms)) - from) / (to - from)) * inner;
  const brush = useBrush((px) => from + (Math.max(0, Math.min(inner, px - left)) / inner) * (to - from), onZoom);
  return (
    <div ref={ref} class="lanes">
      <svg width={width} height={high + 20} role="img" aria-label={label} {...brush.handlers}
        onClick={(event) => {
          if (brush.wasDrag()) return;
          const begin = event.currentTarget.getBoundingClientRect().left;
          const ms = from + ((event.clientX - begin - left) / inner) * (to - from);
          if (ms >= from && ms <= to) onPick?.(Math.round(ms));
        }}>
        <defs><pattern id="unseen-lane" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 0v6" class="hatch" /></pattern></defs>
        {marks(from, to, Math.max(2, inner / 95)).map((one) => (
          <g key={one.at}><path class="gridline" d={`M${x(one.at)} 0V${high}`} /><text x={x(one.at)} y={high + 15} text-anchor="middle">{one.label}</text></g>
        ))}
        {lanes.map((lane, index) => {
          const top = index * laneHeight + (wide ? 0 : 18);
          return (
            <g key={lane.key}>
              <text class="lane-label" x={0} y={wide ? top + 19 : top - 4}>{lane.label}</text>
              <rect class="lane-back" x={left} y={top + 6} width={inner} height={LANE - 12} rx="3" />
              {[...lane.spans].sort((a, b) => Number(a.tone === "bad") - Number(b.tone === "bad")).filter((span) => span.to >= from && span.from <= to).map((span, number) => {
                const begin = x(span.from);
                const least = span.tone === "bad" ? MIN_OUTAGE_PX : 1.5;
                const tall = span.tone === "bad" ? 7 : 0;
                return (
                  <rect key={number} class={`fill-${span.tone}`} x={begin} y={top + 6 + tall / 2} width={Math.max(least, x(span.to) - begin - 0.5)} height={LANE - 12 - tall} rx="2">
                    <title>{`${span.title}\n${moment(span.from, now())} – ${moment(span.to, now())} (${duration(span.to - span.from)})`}</title>
                  </rect>
                );
              })}
              {unseen.map((gap, number) => <rect key={`u${number}`} x={x(gap.from)} y={top + 3} width={Math.max(0, x(gap.to) - x(gap.from))} height={LANE - 6} class="unseen" />)}
              {unseen.map((gap, number) => <rect key={`h${number}`} x={x(gap.from)} y={top + 3} width={Math.max(0, x(gap.to) - x(gap.from))} height={LANE - 6} fill="url(#unseen-lane)"><title>not observed: this NameServer was not running</title></rect>)}
            </g>
          );
        })}
        {brush.dragged === null ? null : <rect class="brush" x={brush.dragged[0]} y="0" width={brush.dragged[1] - brush.dragged[0]} height={high} />}
        {at !== null && at >= from && at <= to ? <path class="cursor" d={`M${x(at)} 0V${high}`} /> : null}
      </svg>
    </div>
  );
}

/** Longest gap between heartbeats per minute, with the timeout as a line. */
export function HeartbeatGaps({ minutes, timeout, from, to }: { minutes: { minute_ms: number; beats: number; max_gap_ms: number }[]; timeout: number; from: number; to: number }): JSX.Element {
  const [ref, width] = useWidth();
  const high = 72;
  const left = 40;
  const inner = Math.max(10, width - left - 2);
  const most = Math.max(1, timeout * 1.1, ...minutes.map((one) => one.max_gap_ms));
  const x = (ms: number): number => left + ((ms - from) / (to - from)) * inner;
  const y = (ms: number): number => 4 + (1 - Math.sqrt(Math.min(1, ms / most))) * (high - 4);
  const bar = Math.max(1, inner / ((to - from) / 60_000) - 0.6);
  return (
    <div ref={ref}>
      <svg width={width} height={high + 18} role="img" aria-label={`Longest gap between heartbeats per minute; the timeout is ${duration(timeout)}`}>
        {[timeout, timeout / 2].map((value, index) => (
          <g key={value}><path class={index === 0 ? "limit bad" : "limit"} d={`M${left} ${y(value)}H${left + inner}`} /><text x={left - 6} y={y(value) + 4} text-anchor="end">{duration(value)}</text></g>
        ))}
        {minutes.map((one) => (
          <rect key={one.minute_ms} class={`fill-${one.max_gap_ms > timeout ? "bad" : one.max_gap_ms > timeout / 2 ? "warn" : "info"}`} x={x(one.minute_ms)} y={y(one.max_gap_ms)} width={bar} height={Math.max(1, high - y(one.max_gap_ms))}>
            <title>{`${moment(one.minute_ms, now())}: ${one.beats} heartbeats, longest gap ${duration(one.max_gap_ms)}`}</title>
          </rect>
        ))}
        <path class="gridline" d={`M${left} ${high}H${left + inner}`} />
        {marks(from, to, Math.max(2, inner / 95)).map((one) => <text key={one.at} x={x(one.at)} y={high + 14} text-anchor="middle">{one.label}</text>)}
      </svg>
    </div>
  );
}
