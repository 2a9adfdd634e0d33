import assert from "node:assert/strict";
import { test } from "node:test";
import type { BrokerRow, LiveEvent } from "../src/api.ts";
import { filterBrokers, sortBrokers, wantsEvent, type BrokerFilter, type EventFilter } from "../src/filters.ts";
import { groupEvents } from "../src/event_groups.ts";
import { describe, describeStep } from "../src/labels.ts";

const row = (name: string, id: number, more: Partial<BrokerRow> = {}): BrokerRow => ({
  key: `${name}#${id}`, name, id, addr: `10.0.0.${id}:10911`, cluster: "c1", zone: "north", role: id === 0 ? "master" : "slave", state: "up",
  last_seen_ms: 0, timeout_ms: 1, version: "5.5.0", data_version: 1, topics: 3, since_ms: 0, down_at_ms: null, reason: null, read_only: false, ...more,
});
const none: BrokerFilter = { q: "", state: "", cluster: "", zone: "", role: "" };
const keys = (rows: BrokerRow[]): string[] => rows.map((one) => one.key);

test("every word of a search must match", () => {
  const rows = [row("alpha", 0), row("beta", 1, { zone: "south" })];
  assert.deepEqual(keys(filterBrokers(rows, { ...none, q: "ALP north" })), ["alpha#0"]);
  assert.deepEqual(keys(filterBrokers(rows, { ...none, q: "alpha south" })), []);
  assert.deepEqual(keys(filterBrokers(rows, none)), ["alpha#0", "beta#1"]);
});

test("headless selects groups without a master", () => {
  const rows = [row("a", 0), row("a", 1), row("b", 1), row("c", 0, { state: "down" }), row("c", 1)];
  assert.deepEqual(keys(filterBrokers(rows, { ...none, role: "headless" })), ["b#1", "c#0", "c#1"]);
});

test("rows sort by number within names, and ties keep one order in both directions", () => {
  const rows = [row("b-10", 0), row("b-2", 1), row("b-2", 0)];
  assert.deepEqual(keys(sortBrokers(rows, "name", false)), ["b-2#0", "b-2#1", "b-10#0"]);
  assert.deepEqual(keys(sortBrokers(rows, "cluster", true)), ["b-2#0", "b-2#1", "b-10#0"]);
  const worst = [row("x", 0), row("y", 0, { state: "down" }), row("z", 0, { state: "suspected" })];
  assert.deepEqual(keys(sortBrokers(worst, "state", false)), ["y#0", "z#0", "x#0"]);
});

const event = (kind: string, more: Partial<LiveEvent> = {}): LiveEvent => ({ seq: 1, at: 1000, kind, fields: {}, ...more });
const all: EventFilter = { kinds: new Set(), broker: "", topic: "", q: "" };

test("per-minute events are shown only when selected", () => {
  assert.equal(wantsEvent(event("lookup_minute"), all, describe), false);
  assert.equal(wantsEvent(event("lookup_minute"), { ...all, kinds: new Set(["lookup_minute"]) }, describe), true);
});

test("events are filtered by broker name or address, and by any of their topics", () => {
  const one = event("topics_changed", { broker: "b", addr: "10.0.0.1:1", topics: ["t1", "t2"] });
  assert.ok(wantsEvent(one, { ...all, broker: "b" }, describe) && wantsEvent(one, { ...all, broker: "10.0.0.1:1" }, describe));
  assert.ok(wantsEvent(one, { ...all, topic: "t2" }, describe) && !wantsEvent(one, { ...all, topic: "t" }, describe));
});

test("the same change on several brokers is one group, and unimportant events are omitted", () => {
  const change = (broker: string, at: number, topic = "t"): LiveEvent => event("topics_changed", { broker, at, topics: [topic], counts: { added: 1 } });
  const quiet = event("broker_changed", { broker: "a", broker_id: 0, fields: { before_id: 0 } });
  const found = groupEvents([change("c", 9000), quiet, change("b", 8990), change("a", 8980, "other"), change("a", 1000)], 10);
  assert.deepEqual(found.map((one) => one.brokers), [["c", "b"], ["a"], ["a"]]);
});

test("a role switch is described as one", () => {
  assert.equal(describe(event("broker_changed", { broker: "a", broker_id: 0, fields: { before_id: 2 } })), "switched from slave 2 to master");
});

test("a step of the history shows only what changed", () => {
  assert.equal(describeStep("rw read 8 write 8 at 0: a:1", "r- read 8 write 8 at 0: a:1, 1: b:1"), "read + write → read only, slave 1 added: b:1");
  assert.equal(describeStep(undefined, "rw read 8 write 4 at 0: a:1"), "read + write, read queues 8, write queues 4, master a:1");
  assert.equal(describeStep("something else", undefined), "something else");
});
