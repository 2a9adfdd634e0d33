import assert from "node:assert/strict";
import { test } from "node:test";
import type { LiveEvent } from "../src/api.ts";
import { said } from "../src/words.ts";

const event = (kind: string, more: Partial<LiveEvent>): LiveEvent => ({ seq: 1, at: 0, kind, fields: {}, ...more });

test("what somebody asked for names them, or where they asked from", () => {
  assert.equal(said(event("topic_deleted", { topic: "t", who: "root", peer: "10.0.0.1:5" })), "was deleted by root");
  assert.equal(said(event("permission_wiped", { broker: "a", peer: "10.0.0.1:5", fields: { topics: 2 } })), "no longer takes writes (2 topics) from 10.0.0.1:5");
});

test("what a broker does by itself names nobody", () => {
  const left = event("broker_down", { broker: "a", broker_id: 0, addr: "10.0.0.1:1", reason: "closed", who: "broker", peer: "10.0.0.1:5" });
  assert.equal(said(left), "left (master at 10.0.0.1:1): its connection closed");
});

test("an end says why", () => {
  assert.equal(said(event("server_stopped", { reason: "SIGTERM" })), "this NameServer stopped: SIGTERM");
  assert.match(said(event("preservation_left", { reason: "brokers_returned", fields: { lasted_ms: 4000 } })), /no longer kept \(brokers returned\) after/);
});
