/** Parses and formats times, in the viewer's zone or in UTC, and durations. */

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

/** Times are shown in the viewer's zone or in UTC; the choice is kept in the browser. */
export type Zone = "local" | "utc";

const KEY = "routebook-zone";
let chosen: Zone | null = null;

export function zone(): Zone {
  if (chosen === null) {
    try {
      chosen = globalThis.localStorage?.getItem(KEY) === "utc" ? "utc" : "local";
    } catch {
      chosen = "local"; // without storage
    }
  }
  return chosen;
}

export function setZone(next: Zone): void {
  chosen = next;
  try {
    globalThis.localStorage?.setItem(KEY, next);
  } catch {
    // without storage: until the page is closed
  }
}

/** `UTC`, or the offset of the viewer's zone: `UTC+02:00`. */
export function zoneName(ms: number): string {
  const minutes = zone() === "utc" ? 0 : -new Date(ms).getTimezoneOffset();
  if (minutes === 0) return "UTC";
  const size = Math.abs(minutes);
  return `UTC${minutes < 0 ? "−" : "+"}${pad(Math.floor(size / 60))}:${pad(size % 60)}`;
}

interface Parts { year: number; month: number; date: number; hour: number; minute: number; second: number; weekday: number }

/** Calendar and clock of a time in the chosen zone. */
function parts(ms: number): Parts {
  const d = new Date(zone() === "utc" ? ms : ms - new Date(ms).getTimezoneOffset() * MINUTE);
  return { year: d.getUTCFullYear(), month: d.getUTCMonth(), date: d.getUTCDate(), hour: d.getUTCHours(), minute: d.getUTCMinutes(), second: d.getUTCSeconds(), weekday: d.getUTCDay() };
}

function fromParts(year: number, month: number, date: number, hour = 0, minute = 0, second = 0): number {
  return zone() === "utc" ? Date.UTC(year, month, date, hour, minute, second) : new Date(year, month, date, hour, minute, second).getTime();
}

/** `02:10:18` in the chosen zone. */
export function clock(ms: number, millis = false): string {
  const d = parts(ms);
  const base = `${pad(d.hour)}:${pad(d.minute)}:${pad(d.second)}`;
  return millis ? `${base}.${pad(((ms % SECOND) + SECOND) % SECOND, 3)}` : base;
}

/** `Nov 16`, with the year if it differs from that of `now`. */
export function day(ms: number, now: number): string {
  const d = parts(ms);
  const base = `${MONTHS[d.month] ?? ""} ${d.date}`;
  return d.year === parts(now).year ? base : `${base} ${d.year}`;
}

/** The clock alone today, the day before it otherwise. */
export function moment(ms: number, now: number): string {
  const [then, today] = [parts(ms), parts(now)];
  return then.date === today.date && then.month === today.month && then.year === today.year ? clock(ms) : `${day(ms, now)}, ${clock(ms)}`;
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

/** `2026-11-16 02:10:18` in the chosen zone, as a user can type it. */
export function toInput(ms: number): string {
  const d = parts(ms);
  return `${d.year}-${pad(d.month + 1)}-${pad(d.date)} ${clock(ms)}`;
}

const WEEKDAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const UNITS: Record<string, number> = { s: SECOND, m: MINUTE, h: HOUR, d: DAY, w: 7 * DAY };

/** A time as a user writes it, by the rules of routebook/times.py: `03:12`, `yesterday 03:12`, `mon 03:12`, `10m ago`, ISO 8601, ms.
 *  Without a zone it is in the chosen one. Null: not a time. */
export function parseTime(typed: string, now: number): number | null {
  const text = typed.trim().toLowerCase().replaceAll(/\s+/g, " ");
  if (text === "now") return now;
  const past = /^(\d{1,9}) ?(s|m|h|d|w|sec|min|(?:second|minute|hour|day|week)s?) ago$/.exec(text);
  if (past !== null) return Math.max(0, now - Number(past[1]) * (UNITS[past[2]?.charAt(0) ?? ""] ?? 0));
  if (/^\d{1,15}$/.test(text)) return Number(text);
  return clockTime(text, now) ?? dateTime(text);
}

function clockTime(text: string, now: number): number | null {
  const found = /^(?:([a-z]{3,9})(?: |$))?(?:(\d{1,2}):(\d\d)(?::(\d\d))?)?(z| ?utc| ?[+-]\d\d:?\d\d)?$/.exec(text);
  if (found === null || (found[1] === undefined && found[2] === undefined)) return null;
  const [, word, hour = "0", minute = "0", second = "0", shift] = found;
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return null;
  const zoned = shift === undefined ? null : offset(shift);
  const today = zoned === null ? parts(now) : { year: new Date(now).getUTCFullYear(), month: new Date(now).getUTCMonth(), date: new Date(now).getUTCDate(), weekday: new Date(now).getUTCDay() };
  const at = (back: number): number => zoned === null
    ? fromParts(today.year, today.month, today.date - back, Number(hour), Number(minute), Number(second))
    : Date.UTC(today.year, today.month, today.date - back, Number(hour), Number(minute), Number(second)) - zoned;
  if (word === undefined) return at(0) <= now ? at(0) : at(1);
  if (word === "today") return at(0);
  if (word === "yesterday") return at(1);
  const days = WEEKDAYS.flatMap((name, index) => (name.startsWith(word) ? [index] : []));
  if (days.length !== 1) return null;
  const back = (today.weekday - (days[0] ?? 0) + 7) % 7;
  return at(back) <= now ? at(back) : at(back + 7);
}

function offset(text: string): number {
  const found = /([+-])(\d\d):?(\d\d)/.exec(text);
  return found === null ? 0 : (found[1] === "-" ? -1 : 1) * (Number(found[2]) * HOUR + Number(found[3]) * MINUTE);
}

function dateTime(text: string): number | null {
  const found = /^(\d{4})-(\d\d)-(\d\d)(?:[t ](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,3})\d*)?)?)?(z| ?utc|[+-]\d\d:?\d\d)?$/.exec(text);
  if (found === null) return null;
  const [year, month, date, hour, minute, second] = found.slice(1, 7).map((one) => Number(one ?? 0)) as [number, number, number, number, number, number];
  const valid = new Date(Date.UTC(year, month - 1, date));
  if (valid.getUTCMonth() !== month - 1 || hour > 23 || minute > 59 || second > 59) return null;
  const millis = Number((found[7] ?? "0").padEnd(3, "0"));
  const shift = found[8];
  return (shift === undefined ? fromParts(year, month - 1, date, hour, minute, second) : Date.UTC(year, month - 1, date, hour, minute, second) - offset(shift)) + millis;
}

/** A time in a URL: ms since the epoch, ISO 8601, or any form that a user can type. */
export function fromUrl(text: string | null, now = Date.now()): number | null {
  return text === null ? null : parseTime(text, now);
}

/** Axis ticks between two times: at most about `most`, on whole units of the chosen zone; midnight shows the date. */
export function marks(from: number, to: number, most: number): { at: number; label: string }[] {
  const steps = [SECOND, 5 * SECOND, 15 * SECOND, 30 * SECOND, MINUTE, 5 * MINUTE, 10 * MINUTE, 30 * MINUTE, HOUR,
    2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 30 * DAY];
  const step = steps.find((one) => (to - from) / one <= most) ?? 90 * DAY;
  const shift = zone() === "utc" ? 0 : new Date(from).getTimezoneOffset() * MINUTE;
  const found: { at: number; label: string }[] = [];
  for (let at = Math.ceil((from - shift) / step) * step + shift; at <= to; at += step) {
    const d = parts(at);
    const midnight = step >= HOUR && d.hour === 0 && d.minute === 0;
    const label = step >= DAY || midnight ? `${MONTHS[d.month] ?? ""} ${d.date}` : step >= MINUTE ? `${pad(d.hour)}:${pad(d.minute)}` : clock(at);
    found.push({ at, label });
  }
  return found;
}
