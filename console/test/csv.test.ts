import assert from "node:assert/strict";
import { test } from "node:test";
import { csvOf, textValue } from "../src/csv.ts";

test("a CSV quotes separators, quotes and line ends, and disarms formulas", () => {
  assert.equal(csvOf([["a", "b,c", 'd"e'], ["=1+1", "-5", "x\ny"]]), 'a,"b,c","d""e"\r\n\'=1+1,-5,"x\ny"\r\n');
});

test("cells sort by number, duration or text", () => {
  assert.deepEqual(["12", "1\u202f200", "99.58 %", "2 min 5 s", "740 ms", "3 d", "–", "Abc", "3 + 1 planned"].map(textValue),
    [12, 1200, 99.58, 125_000, 740, 259_200_000, -1, "abc", 3]);
});
