/** Activity chart: number of brokers, joined and left per step, times that were not observed (hatched). */

import type { JSX, TargetedKeyboardEvent } from "preact";
import { useState } from "preact/hooks";
import type { Strip } from "../api.ts";
import { now } from "../live.ts";
import { duration, marks, moment, utc } from "../time.ts";
import { go } from "../url.ts";
import { plural, useWidth } from "./components.tsx";
import { useBrush } from "./range.tsx";

const HIGH = 64;
const BARS = 26;
const LABELS = 18;

export function ActivityChart({ strip, onZoom }: { strip: Strip; onZoom?: (from: number, to: number) => void }): JSX.Element {
  const [ref, width] = useWidth();
  const [at, setAt] = useState<number | null>(null);
  const { points } = strip;
  const left = 34;
  const inner = Math.max(10, width - left - 8);
  const x = (ms: number): number => left + ((ms - strip.from_ms) / (strip.to_ms - strip.from_ms)) * inner;
  const step = inner / points.length;
  const brush = useBrush((px) => strip.from_ms + (Math.max(0, Math.min(inner, px - left)) / inner) * (strip.to_ms - strip.from_ms), onZoom);
  const most = Math.max(1, ...points.map((one) => one.brokers ?? 0));
  const busiest = Math.max(1, ...points.map((one) => Math.max(one.ups, one.downs)));
  const y = (value: number): number => 6 + (1 - value / most) * (HIGH - 8);

  let line = "";
  let area = "";
  let run: string[] = [];
  const close = (end: number): void => {
    if (run.length > 0) {
      line += `M${run.join("L")}`;
      area += `M${run[0]?.split(",")[0] ?? 0},${HIGH}L${run.join("L")}L${end.toFixed(1)},${HIGH}Z`;
    }
    run = [];
  };
  points.forEach((one, index) => {
    if (one.brokers === null) return close(left + index * step);
    const top = y(one.brokers).toFixed(1);
    run.push(`${(left + index * step).toFixed(1)},${top}`, `${(left + (index + 1) * step).toFixed(1)},${top}`);
  });
  close(left + inner);

  const chosen = at === null ? undefined : points[at];
  const summary = chosen === undefined ? "" : chosen.observed || chosen.brokers !== null
    ? `${moment(chosen.at_ms, now())}: ${chosen.brokers === null ? "unknown" : plural(chosen.brokers, "broker")}, ${chosen.ups} joined, ${chosen.downs} left, ${plural(chosen.changes, "change")}`
    : `${moment(chosen.at_ms, now())}: not observed`;
  const open = (index: number): void => {
    const point = points[index];
    if (point !== undefined) go(`/events?at=${point.at_ms + strip.step_ms}`);
  };
  const key = (event: TargetedKeyboardEvent<SVGSVGElement>): void => {
    const steps: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, PageUp: -12, PageDown: 12, Home: -points.length, End: points.length };
    const move = steps[event.key];
    if (move !== undefined) {
      event.preventDefault();
      setAt(Math.max(0, Math.min(points.length - 1, (at ?? points.length - 1) + move)));
    } else if (event.key === "Enter" && at !== null) open(at);
  };
  return (
    <div class="strip" ref={ref}>
      <svg width={width} height={HIGH + BARS + LABELS} role="slider" tabIndex={0} aria-label="Brokers over time; Enter shows the events at that time"
        aria-valuemin={0} aria-valuemax={points.length - 1} aria-valuenow={at ?? points.length - 1} aria-valuetext={summary || "now"}
        onKeyDown={key} onMouseLeave={() => setAt(null)} onBlur={() => setAt(null)}
        onMouseMove={(event) => {
          const from = event.currentTarget.getBoundingClientRect().left;
          const index = Math.floor((event.clientX - from - left) / step);
          setAt(index >= 0 && index < points.length ? index : null);
        }}
        {...brush.handlers}
        onClick={() => { if (at !== null && !brush.wasDrag()) open(at); }}>
        <defs>
          <pattern id="unseen" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 0v6" class="hatch" /></pattern>
        </defs>
        {points.map((one, index) => one.observed ? null
          : <rect key={index} x={left + index * step} y="4" width={step + 0.4} height={HIGH + BARS - 4} fill="url(#unseen)" />)}
        {[most, 0].map((value) => <g key={value}><path class="gridline" d={`M${left} ${y(value)}H${left + inner}`} /><text x={left - 6} y={y(value) + 4} text-anchor="end">{value}</text></g>)}
        <path class="strip-area" d={area} />
        <path class="strip-line" d={line} />
        {points.map((one, index) => {
          const wide = Math.max(1.5, step - 0.6);
          const up = one.ups === 0 ? 0 : 2 + (one.ups / busiest) * (BARS / 2 - 3);
          const down = one.downs === 0 ? 0 : 2 + (one.downs / busiest) * (BARS / 2 - 3);
          const middle = HIGH + BARS / 2;
          return up + down === 0 ? null : (
            <g key={index}>
              {up === 0 ? null : <rect class="fill-ok" x={left + index * step} y={middle - up} width={wide} height={up} />}
              {down === 0 ? null : <rect class="fill-bad" x={left + index * step} y={middle} width={wide} height={down} />}
            </g>
          );
        })}
        <path class="gridline" d={`M${left} ${HIGH + BARS / 2}H${left + inner}`} />
        {marks(strip.from_ms, strip.to_ms, Math.max(2, inner / 90)).filter((one) => x(one.at) < left + inner - 8).map((one) => (
          <text key={one.at} x={x(one.at)} y={HIGH + BARS + 14} text-anchor="middle">{one.label}</text>
        ))}
        {brush.dragged === null ? null : <rect class="brush" x={brush.dragged[0]} y="2" width={brush.dragged[1] - brush.dragged[0]} height={HIGH + BARS - 2} />}
        {at === null ? null : <path class="cursor" d={`M${left + (at + 0.5) * step} 2V${HIGH + BARS}`} />}
      </svg>
      <p class="strip-summary small muted" aria-hidden="true">
        {chosen === undefined
          ? <span class="row legend"><span><span class="key-line" />brokers</span> <span><span class="key ok" />joined</span> <span><span class="key bad" />left</span> <span><span class="key hatch" />not observed</span> <span>{duration(strip.step_ms)} steps</span>{onZoom === undefined ? null : <span>drag to zoom</span>}</span>
          : <span title={utc(chosen.at_ms)}>{summary} · Enter or click: show events</span>}
      </p>
    </div>
  );
}
