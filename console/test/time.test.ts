import assert from "node:assert/strict";
import { test } from "node:test";
import { readFileSync } from "node:fs";
import { ago, clock, DAY, duration, fromUrl, HOUR, marks, MINUTE, moment, parseTime, SECOND, setZone, shortAge, toInput, utc, zoneName } from "../src/time.ts";

/** The same cases as tests/unit/test_times.py. */
const shared = JSON.parse(readFileSync("test/time_cases.json", "utf-8")) as { now: string; cases: [string, string | null][] };

test("a duration has at most two units and omits zeros", () => {
  assert.equal(duration(0), "0 s");
  assert.equal(duration(740), "740 ms");
  assert.equal(duration(4 * SECOND), "4 s");
  assert.equal(duration(3 * MINUTE + 20 * SECOND), "3 min 20 s");
  assert.equal(duration(2 * HOUR), "2 h");
  assert.equal(duration(3 * DAY + 4 * HOUR + 5 * MINUTE), "3 d 4 h");
  assert.equal(duration(59_700), "1 min");
  assert.equal(duration(-5 * SECOND), "−5 s");
  assert.equal(duration(Number.NaN), "–");
});

test("an age in a column is short", () => {
  assert.deepEqual([-1, 99 * SECOND, 100 * SECOND, 100 * MINUTE, 48 * HOUR].map(shortAge), ["0s", "99s", "1m", "1h", "2d"]);
});

test("a time within two seconds is now", () => {
  assert.equal(ago(1000, 2000), "now");
  assert.equal(ago(1000, 61_000), "1 min ago");
  assert.equal(ago(61_000, 1000), "in 1 min");
});

test("a time in a URL is ms or ISO 8601", () => {
  assert.equal(fromUrl("1794795018682"), 1794795018682);
  assert.equal(fromUrl("2026-11-16T02:10:18.682Z"), 1794795018682);
  assert.equal(fromUrl("soon"), null);
  assert.equal(fromUrl(""), null);
  assert.equal(fromUrl(null), null);
});

test("UTC times are labelled", () => {
  assert.equal(utc(1794795018682), "2026-11-16 02:10:18.682 UTC");
});

test("an axis has few ticks, on round times, within its range", () => {
  const from = Date.UTC(2026, 10, 16, 2, 7, 11);
  for (const span of [90 * SECOND, 50 * MINUTE, DAY, 40 * DAY]) {
    const found = marks(from, from + span, 8);
    assert.ok(found.length > 0 && found.length <= 9, `${span}: ${found.length}`);
    assert.ok(found.every((one) => one.at >= from && one.at <= from + span));
  }
});

test("midnight shows the date", () => {
  const noon = new Date(2026, 10, 14, 12).getTime();
  assert.deepEqual(marks(noon, noon + 2 * DAY, 5).map((one) => one.label), ["12:00", "Nov 15", "12:00", "Nov 16", "12:00"]);
});

test("typed times follow the rules of the server", () => {
  setZone("utc");
  for (const [text, wanted] of shared.cases) assert.equal(parseTime(text, Date.parse(shared.now)), wanted === null ? null : Date.parse(wanted), text);
  setZone("local");
});

test("a typed time is in the chosen zone", () => {
  const noon = new Date(2026, 10, 14, 12).getTime();
  assert.equal(parseTime("03:12", noon), new Date(2026, 10, 14, 3, 12).getTime());
  assert.equal(parseTime(toInput(noon), noon + DAY), noon);
  assert.equal(parseTime("03:12Z", Date.UTC(2026, 10, 14, 12)), Date.UTC(2026, 10, 14, 3, 12));
});

test("times are shown in the chosen zone", () => {
  const at = Date.UTC(2026, 10, 14, 3, 12, 9);
  setZone("utc");
  assert.deepEqual([clock(at), moment(at, at + DAY), zoneName(at)], ["03:12:09", "Nov 14, 03:12:09", "UTC"]);
  setZone("local");
});
