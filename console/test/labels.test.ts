import assert from "node:assert/strict";
import { test } from "node:test";
import type { LiveEvent } from "../src/api.ts";
import { describe } from "../src/labels.ts";

const event = (kind: string, more: Partial<LiveEvent>): LiveEvent => ({ seq: 1, at: 0, kind, fields: {}, ...more });

test("an admin action names the identity, or the address of the request", () => {
  assert.equal(describe(event("topic_deleted", { topic: "t", who: "root", peer: "10.0.0.1:5" })), "deleted by root");
  assert.equal(describe(event("permission_wiped", { broker: "a", peer: "10.0.0.1:5", fields: { topics: 2 } })), "write permission removed (2 topics) by a request from 10.0.0.1:5");
});

test("an action of a broker names no identity", () => {
  const left = event("broker_down", { broker: "a", broker_id: 0, addr: "10.0.0.1:1", reason: "closed", who: "broker", peer: "10.0.0.1:5" });
  assert.equal(describe(left), "left (master at 10.0.0.1:1): connection closed");
});

test("a stop has its reason", () => {
  assert.equal(describe(event("server_stopped", { reason: "SIGTERM" })), "NameServer stopped: SIGTERM");
  assert.match(describe(event("preservation_left", { reason: "brokers_returned", fields: { lasted_ms: 4000 } })), /expire again \(brokers returned\) after/);
});

test("an election names both masters, the epoch and the cause", () => {
  const fields = { before_id: 1, master_epoch: 4, unclean: false };
  assert.equal(describe(event("master_elected", { broker: "a", broker_id: 2, cause: "closed", fields })), "replica 2 is master instead of 1, epoch 4 (connection of the master closed)");
  assert.equal(describe(event("master_elected", { broker: "a", broker_id: 1, cause: "first", fields: { before_id: null, master_epoch: 1 } })), "replica 1 is master, epoch 1 (first election)");
  assert.equal(describe(event("no_master_elected", { broker: "a", cause: "expired", fields: { before_id: 2, master_epoch: 5 } })), "no candidate for master: replica 2 is lost, epoch 5 (no heartbeat of the master)");
  assert.equal(describe(event("sync_state_changed", { broker: "a", fields: { in_sync: "1, 2", before_in_sync: "1" } })), "in sync: 1, 2 (before: 1)");
});
