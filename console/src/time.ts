/** Formats times in the viewer's zone and in UTC, and durations. */

const pad = (value: number, width = 2): string => String(value).padStart(width, "0");

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

export const SECOND = 1000;
export const MINUTE = 60 * SECOND;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** `2026-11-16 02:10:18.721 UTC` */
export function utc(ms: number): string {
  const iso = new Date(ms).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, 23)} UTC`;
}

/** `02:10:18` in the viewer's zone. */
export function clock(ms: number, millis = false): string {
  const d = new Date(ms);
  const base = `${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`;
  return millis ? `${base}.${pad(d.getMilliseconds(), 3)}` : base;
}

/** `Nov 16`, with the year if it differs from that of `now`. */
export function day(ms: number, now: number): string {
  const d = new Date(ms);
  const base = `${MONTHS[d.getMonth()] ?? ""} ${d.getDate()}`;
  return d.getFullYear() === new Date(now).getFullYear() ? base : `${base} ${d.getFullYear()}`;
}

/** The clock alone today, the day before it otherwise. */
export function moment(ms: number, now: number): string {
  const today = new Date(ms).toDateString() === new Date(now).toDateString();
  return today ? clock(ms) : `${day(ms, now)}, ${clock(ms)}`;
}

/** Two units at most: `4 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`. */
export function duration(ms: number): string {
  if (!Number.isFinite(ms)) return "–";
  if (ms < 0) return `−${duration(-ms)}`;
  if (ms === 0) return "0 s";
  if (ms < SECOND) return `${Math.round(ms)} ms`;
  const units: [string, number][] = [["d", DAY], ["h", HOUR], ["min", MINUTE], ["s", SECOND]];
  const rounded = Math.round(ms / SECOND) * SECOND;
  const first = units.findIndex(([, size]) => rounded >= size);
  const [name, size] = units[first] ?? ["s", SECOND];
  const whole = Math.floor(rounded / size);
  const next = units[first + 1];
  if (next === undefined) return `${whole} ${name}`;
  const rest = Math.floor((rounded - whole * size) / next[1]);
  return rest === 0 ? `${whole} ${name}` : `${whole} ${name} ${rest} ${next[0]}`;
}

/** One unit, short: `4s`, `3m`, `2h`, `5d`; for columns that change every second. */
export function shortAge(ms: number): string {
  if (ms < 0) return "0s";
  if (ms < 100 * SECOND) return `${Math.floor(ms / SECOND)}s`;
  if (ms < 100 * MINUTE) return `${Math.floor(ms / MINUTE)}m`;
  if (ms < 48 * HOUR) return `${Math.floor(ms / HOUR)}h`;
  return `${Math.floor(ms / DAY)}d`;
}

export function ago(ms: number, now: number): string {
  const past = now - ms;
  if (past < 2 * SECOND && past > -2 * SECOND) return "now";
  return past < 0 ? `in ${duration(-past)}` : `${duration(past)} ago`;
}

/** The value of `<input type="datetime-local" step="1">`. */
export function toInput(ms: number): string {
  const d = new Date(ms);
  return `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())}T${clock(ms)}`;
}

export function fromInput(text: string): number | null {
  const ms = new Date(text).getTime();
  return Number.isNaN(ms) ? null : ms;
}

/** A time in a URL: ms since the epoch, or ISO 8601. */
export function fromUrl(text: string | null): number | null {
  if (text === null || text === "") return null;
  if (/^\d{1,15}$/.test(text)) return Number(text);
  const ms = Date.parse(text);
  return Number.isNaN(ms) ? null : ms;
}

/** Axis ticks between two times: at most about `most`, on whole units of the viewer's zone; midnight shows the date. */
export function marks(from: number, to: number, most: number): { at: number; label: string }[] {
  const steps = [SECOND, 5 * SECOND, 15 * SECOND, 30 * SECOND, MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR,
    2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 30 * DAY];
  const step = steps.find((one) => (to - from) / one <= most) ?? 90 * DAY;
  const shift = new Date(from).getTimezoneOffset() * MINUTE;
  const found: { at: number; label: string }[] = [];
  for (let at = Math.ceil((from - shift) / step) * step + shift; at <= to; at += step) {
    const d = new Date(at);
    const midnight = step >= HOUR && d.getHours() === 0 && d.getMinutes() === 0;
    const label = step >= DAY || midnight ? `${MONTHS[d.getMonth()] ?? ""} ${d.getDate()}`
      : step >= MINUTE ? `${pad(d.getHours())}:${pad(d.getMinutes())}` : clock(at);
    found.push({ at, label });
  }
  return found;
}
