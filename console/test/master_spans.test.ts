import assert from "node:assert/strict";
import { test } from "node:test";
import type { Election } from "../src/api.ts";
import { masterLanes } from "../src/master_spans.ts";

const election = (seq: number, at_ms: number, master_id: number | null, before_id: number | null, more: Partial<Election> = {}): Election => ({
  seq, at_ms, kind: master_id === null ? "no_master_elected" : "master_elected", cluster: "C", broker: "a", cause: "closed", master_id, master_addr: null, before_id,
  before_addr: null, master_epoch: seq, in_sync: [], before_in_sync: [], unclean: false, lost_at_ms: null, candidates: [], peer: null, who: null, ...more,
});

test("a master lasts until the next election, and the master before the first one is known from it", () => {
  const lanes = masterLanes([election(4, 300, 1, null), election(3, 200, null, 2), election(2, 100, 2, 1)], 0, 1000);
  assert.deepEqual(lanes.map((one) => one.key), ["a"]);
  assert.deepEqual(lanes[0]?.spans.map((one) => [one.from, one.to, one.tone]), [[0, 100, "ok"], [100, 200, "info"], [200, 300, "bad"], [300, 1000, "info"]]);
  assert.equal(lanes[0]?.spans[1]?.title, "replica 2 is master, epoch 2");
});

test("spans are cut to the period, and those outside are left out", () => {
  const [lane] = masterLanes([election(1, 100, 1, null), election(2, 5000, 2, 1)], 1000, 2000);
  assert.deepEqual(lane?.spans.map((one) => [one.from, one.to]), [[1000, 2000]]);
});

test("each set has a lane, the set with the newest election first", () => {
  const lanes = masterLanes([election(2, 200, 1, null, { broker: "b" }), election(1, 100, 1, null)], 0, 1000);
  assert.deepEqual(lanes.map((one) => one.key), ["b", "a"]);
});
