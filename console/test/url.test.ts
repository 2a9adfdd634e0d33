import assert from "node:assert/strict";
import { test } from "node:test";

// The module listens to the window when it is loaded.
(globalThis as { addEventListener?: unknown }).addEventListener = () => undefined;
const { brokerHref, parsePlace, topicHref } = await import("../src/url.ts");

test("names survive encoding in a URL", () => {
  for (const name of ["orders", "%RETRY%group", "a/b", "<script>alert(1)</script>", "ünï 码", "a?b#c"]) {
    const [path = ""] = topicHref(name).split("?");
    assert.equal(parsePlace(path, "").name, name);
    assert.equal(parsePlace(brokerHref(name), "").page, "brokers");
  }
});

test("a URL that is not percent-encoded UTF-8 is kept as it is", () => {
  assert.equal(parsePlace("/topics/%E0%A4%A", "").name, "%E0%A4%A");
});

test("the root is the overview", () => {
  assert.deepEqual([parsePlace("/", "").page, parsePlace("/brokers", "").name, parsePlace("/brokers/", "").name], ["overview", null, null]);
});
