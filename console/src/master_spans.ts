/** Who was master of each set, as spans of a time line, from elections. Pure. */

import type { Election } from "./api.ts";
import type { Tone } from "./ui/icons.tsx";

export interface MasterSpan {
  from: number;
  to: number;
  tone: Tone;
  title: string;
}

export interface MasterLane {
  key: string;
  label: string;
  spans: MasterSpan[];
}

/** One lane per set, sets with the newest elections first. Neighbouring masters alternate in tone; no master is `bad`. */
export function masterLanes(elections: Election[], from: number, to: number): MasterLane[] {
  const sets = new Map<string, Election[]>();
  for (const one of elections) sets.set(one.broker, [...(sets.get(one.broker) ?? []), one]);
  return [...sets].map(([broker, found]) => ({ key: broker, label: broker, spans: spansOf([...found].sort((a, b) => a.seq - b.seq), from, to) }));
}

function spansOf(found: Election[], from: number, to: number): MasterSpan[] {
  const states = found.map((one) => ({ at: one.at_ms, master: one.master_id, epoch: one.master_epoch }));
  const first = found[0];
  if (first !== undefined && first.before_id !== null) states.unshift({ at: Math.min(from, first.at_ms), master: first.before_id, epoch: first.master_epoch - 1 });
  const spans: MasterSpan[] = [];
  states.forEach((one, index) => {
    const end = states[index + 1]?.at ?? to;
    if (end <= from || one.at >= to || end <= one.at) return;
    const tone: Tone = one.master === null ? "bad" : one.epoch % 2 === 0 ? "info" : "ok";
    spans.push({ from: Math.max(from, one.at), to: Math.min(to, end), tone, title: one.master === null ? "no master" : `replica ${one.master} is master, epoch ${one.epoch}` });
  });
  return spans;
}
