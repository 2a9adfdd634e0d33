/** Charts of the reports, as SVG. */

import type { JSX } from "preact";
import { useWidth } from "./components.tsx";

export interface Bar {
  key: string;
  label: string;
  value: number;
  part?: number; // a part of the value, in another colour
  title: string;
}

/** Bar chart; labels that do not fit are left out. */
export function Bars({ label, bars, high = 120 }: { label: string; bars: Bar[]; high?: number }): JSX.Element {
  const [ref, width] = useWidth();
  const left = 48;
  const inner = Math.max(10, width - left - 4);
  const most = Math.max(1, ...bars.map((one) => one.value));
  const step = inner / Math.max(1, bars.length);
  const every = Math.max(1, Math.ceil(70 / step));
  const y = (value: number): number => 4 + (1 - value / most) * (high - 4);
  return (
    <div ref={ref}>
      <svg width={width} height={high + 20} role="img" aria-label={label}>
        {[most, most / 2].map((value) => <g key={value}><path class="gridline" d={`M${left} ${y(value)}H${left + inner}`} /><text x={left - 6} y={y(value) + 4} text-anchor="end">{compact(value)}</text></g>)}
        {bars.map((one, index) => (
          <g key={one.key}>
            <rect class="fill-info" x={left + index * step + 0.5} y={y(one.value)} width={Math.max(1, step - 1)} height={Math.max(one.value > 0 ? 1 : 0, high - y(one.value))}><title>{one.title}</title></rect>
            {one.part ? <rect class="fill-bad" x={left + index * step + 0.5} y={y(one.part)} width={Math.max(1, step - 1)} height={Math.max(1, high - y(one.part))}><title>{one.title}</title></rect> : null}
            {index % every === 0 && index * step + 62 < inner + 40 ? <text x={left + index * step} y={high + 15}>{one.label}</text> : null}
          </g>
        ))}
        <path class="gridline" d={`M${left} ${high}H${left + inner}`} />
      </svg>
    </div>
  );
}

export interface Point {
  x: number;
  y: number;
  z: number;
  chosen: boolean;
}

/** Logarithmic scale that includes zero. */
const scaled = (value: number): number => Math.log10(1 + Math.max(0, value) * 100);

/** Two curves: `y` on the left axis (logarithmic), `z` on the right; a vertical line at the recommended value. */
export function Curve({ label, points, xs, ys, zs, xName, yName, zName }: {
  label: string; points: Point[]; xs: (value: number) => string; ys: (value: number) => string; zs: (value: number) => string; xName: string; yName: string; zName: string;
}): JSX.Element {
  const [ref, width] = useWidth();
  const high = 220;
  const left = 54;
  const right = 72;
  const inner = Math.max(10, width - left - right);
  const sorted = [...points].sort((a, b) => a.x - b.x);
  const lo = Math.log(Math.max(1, sorted[0]?.x ?? 1));
  const hi = Math.log(Math.max(2, sorted.at(-1)?.x ?? 2));
  const mostY = Math.max(1e-9, ...sorted.map((one) => one.y));
  const mostZ = Math.max(1e-9, ...sorted.map((one) => one.z));
  const x = (value: number): number => left + ((Math.log(Math.max(1, value)) - lo) / (hi - lo || 1)) * inner;
  const y = (value: number): number => 10 + (1 - scaled(value) / scaled(mostY)) * (high - 10);
  const z = (value: number): number => 10 + (1 - value / mostZ) * (high - 10);
  const path = (pick: (one: Point) => number): string => sorted.map((one, index) => `${index === 0 ? "M" : "L"}${x(one.x).toFixed(1)},${pick(one).toFixed(1)}`).join("");
  const advice = sorted.find((one) => one.chosen);
  return (
    <div ref={ref} class="curve">
      <svg width={width} height={high + 40} role="img" aria-label={label}>
        {[0, 0.1, 1, 10, 100, 1000, 10_000].filter((value) => value <= mostY).map((value) => (
          <g key={value}><path class="gridline" d={`M${left} ${y(value)}H${left + inner}`} /><text x={left - 6} y={y(value) + 4} text-anchor="end">{ys(value)}</text></g>
        ))}
        {[0, 0.5, 1].map((share) => <text key={share} x={left + inner + 8} y={z(mostZ * share) + 4}>{zs(mostZ * share)}</text>)}
        {advice === undefined ? null : <g><path class="advice" d={`M${x(advice.x)} 6V${high}`} /><text class="strong" x={x(advice.x) + 5} y={18}>{xs(advice.x)}</text></g>}
        <path class="curve-y" d={path((one) => y(one.y))} />
        <path class="curve-z" d={path((one) => z(one.z))} />
        {sorted.map((one) => (
          <g key={one.x}>
            <circle class="dot-y" cx={x(one.x)} cy={y(one.y)} r={one.chosen ? 5 : 3}><title>{`${xs(one.x)}: ${ys(one.y)} ${yName}, ${zs(one.z)} ${zName}`}</title></circle>
            <rect class="dot-z" x={x(one.x) - 3} y={z(one.z) - 3} width="6" height="6"><title>{`${xs(one.x)}: ${ys(one.y)} ${yName}, ${zs(one.z)} ${zName}`}</title></rect>
          </g>
        ))}
        {spaced(sorted.map((one) => ({ ...one, px: x(one.x) })), 62).map((one) => <text key={one.x} x={x(one.x)} y={high + 16} text-anchor="middle">{xs(one.x)}</text>)}
        <text x={left + inner / 2} y={high + 34} text-anchor="middle">{xName}</text>
      </svg>
      <p class="small muted row legend"><span><span class="key-line dots" />{yName} (left)</span> <span><span class="key-line dashed" />{zName} (right)</span></p>
    </div>
  );
}

/** The points whose label fits, from the left. */
function spaced<T extends { px: number }>(points: readonly T[], room: number): T[] {
  const kept: T[] = [];
  for (const point of points) if (point.px - (kept.at(-1)?.px ?? -Infinity) >= room) kept.push(point);
  return kept;
}

export function compact(value: number): string {
  if (value >= 1e6) return `${(value / 1e6).toFixed(value >= 1e7 ? 0 : 1)}M`;
  if (value >= 1e3) return `${(value / 1e3).toFixed(value >= 1e4 ? 0 : 1)}k`;
  return value >= 10 || Number.isInteger(value) ? value.toFixed(0) : value.toFixed(1);
}
