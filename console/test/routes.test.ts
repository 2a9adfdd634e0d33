import assert from "node:assert/strict";
import { test } from "node:test";
import type { Route, RouteVersion } from "../src/api.ts";
import { differences, stops, versionAt } from "../src/routes.ts";

function route(...brokers: { name: string; addrs?: Record<string, string>; perm?: number; read?: number; write?: number }[]): Route {
  return {
    brokers: brokers.map(({ name, addrs }) => ({ name, cluster: "c", acting_master: false, zone: null, addrs: addrs ?? { "0": `${name}:1` } })),
    queues: brokers.map(({ name, perm = 6, read = 4, write = 4 }) => ({ broker: name, perm, readable: true, writable: true, read_queues: read, write_queues: write, system_flag: 0 })),
    filter_servers: {},
    static_mappings: {},
    order_config: null,
  };
}

test("no route has no stops", () => {
  assert.deepEqual(stops(null), []);
});

test("stops are sorted, masters first", () => {
  const found = stops(route({ name: "b-10" }, { name: "b-2", addrs: { "1": "s", "0": "m" } }));
  assert.deepEqual(found.map((one) => one.broker), ["b-2", "b-10"]);
  assert.deepEqual(found[0]?.addrs.map((one) => one.addr), ["m", "s"]);
});

test("equal routes have no differences", () => {
  assert.equal(differences(stops(route({ name: "a" })), stops(route({ name: "a" }))).size, 0);
});

test("added, removed and changed brokers are listed", () => {
  const before = stops(route({ name: "a" }, { name: "gone" }, { name: "c", addrs: { "0": "m", "1": "s" } }));
  const after = stops(route({ name: "a", perm: 4, write: 8 }, { name: "new" }, { name: "c", addrs: { "0": "s" } }));
  const found = differences(before, after);
  assert.deepEqual([...found].map(([name, one]) => [name, one.change]).sort(), [["a", "changed"], ["c", "changed"], ["gone", "removed"], ["new", "added"]]);
  assert.deepEqual(found.get("a")?.details, ["read + write → read only", "write queues 4 → 8"]);
  assert.deepEqual(found.get("c")?.details, ["master m → s", "slave 1 removed: s"]);
});

test("the version at a time is the newest that began by then", () => {
  const version = (from: number): RouteVersion => ({ valid_from_ms: from, valid_to_ms: null, cause: { seq: 1, at_ms: from, kind: "k" }, steps: [], brokers: [], read_queues: 0, write_queues: 0 });
  const versions = [version(30), version(20), version(10)];
  assert.equal(versionAt(versions, 29)?.valid_from_ms, 20);
  assert.equal(versionAt(versions, 30)?.valid_from_ms, 30);
  assert.equal(versionAt(versions, 9), null);
});
