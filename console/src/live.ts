/** What the server pushes, kept for the pages: one WebSocket, one change of the screen per frame. */

import { useEffect, useState } from "preact/hooks";
import { QUIET_KINDS } from "./words.ts";
import type { BrokerRow, Hello, Live, LiveEvent, Overview } from "./api.ts";

export type Link = "connecting" | "live" | "reconnecting" | "restarting" | "refused";
export type Part = "link" | "overview" | "brokers" | "events" | "clock";

const KEPT_EVENTS = 5000;
const SILENCE_MS = 15_000; // the overview comes every second

export interface State {
  link: Link;
  why: string;
  since: number; // when the link became what it is
  restartedAt: number | null; // when a new boot was seen, for a notice
  hello: Hello | null;
  offset: number; // server's clock minus this one's
  overview: Overview | null;
  brokers: Map<string, BrokerRow>;
  events: LiveEvent[]; // oldest first
  returns: number; // how often the link came back: pages ask again what they asked
}

export const state: State = {
  link: "connecting",
  why: "",
  since: Date.now(),
  restartedAt: null,
  hello: null,
  offset: 0,
  overview: null,
  brokers: new Map(),
  events: [],
  returns: 0,
};

const listeners = new Map<Part, Set<() => void>>();
const changed = new Set<Part>();
let asked = false;

function flush(): void {
  asked = false;
  const parts = [...changed];
  changed.clear();
  const told = new Set<() => void>();
  for (const part of parts) for (const listener of listeners.get(part) ?? []) told.add(listener);
  for (const listener of told) listener();
}

/** A hidden tab gets no frames; what it missed is drawn when it is seen again. */
function touch(part: Part): void {
  changed.add(part);
  if (asked) return;
  asked = true;
  requestAnimationFrame(flush);
}

/** Draw again when one of these parts changes. */
export function useLive(...parts: Part[]): State {
  const [, again] = useState(0);
  useEffect(() => {
    const listener = (): void => again((count) => count + 1);
    for (const part of parts) {
      const set = listeners.get(part) ?? new Set();
      listeners.set(part, set);
      set.add(listener);
    }
    return () => { for (const part of parts) listeners.get(part)?.delete(listener); };
  }, [parts.join()]);
  return state;
}

/** The server's time now; draws again every second. */
export function useNow(): number {
  useLive("clock");
  return now();
}

export function now(): number {
  return Date.now() + state.offset;
}

function become(link: Link, why = ""): void {
  if (state.link !== link) state.since = Date.now();
  state.link = link;
  state.why = why;
  touch("link");
}

let socket: WebSocket | null = null;
let kinds: readonly string[] | null = null;

/** Events of these kinds, too, which do not come by themselves: those of every minute. Null: as the server sends by default. */
export function watchKinds(wanted: readonly string[] | null): void {
  kinds = wanted;
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(wanted === null ? { type: "watch", kinds: QUIET_KINDS } : { type: "watch", kinds: [...QUIET_KINDS, ...wanted] }));
}

let lastSeq: number | null = null;
let heardAt = 0;
let failures = 0;
let timer: number | undefined;

function took(message: Live): void {
  switch (message.type) {
    case "hello": {
      const before = state.hello;
      if (before !== null && before.boot !== message.boot) state.restartedAt = Date.now();
      if (before !== null && before.ns !== message.ns) { state.events = []; lastSeq = null; }
      if (before !== null) state.returns += 1;
      state.hello = message;
      state.offset = message.now_ms - Date.now();
      if (lastSeq === null) lastSeq = message.seq;
      failures = 0;
      become("live");
      if (kinds !== null) watchKinds(kinds);
      break;
    }
    case "snapshot":
      state.overview = message.overview;
      state.brokers = new Map(message.brokers.map((row) => [row.key, row]));
      touch("overview");
      touch("brokers");
      break;
    case "overview":
      state.overview = message.overview;
      touch("overview");
      break;
    case "brokers":
      for (const row of message.changed) state.brokers.set(row.key, row);
      for (const key of message.gone) state.brokers.delete(key);
      touch("brokers");
      break;
    case "beats":
      for (const [key, seen] of Object.entries(message.seen)) {
        const row = state.brokers.get(key);
        if (row !== undefined) state.brokers.set(key, { ...row, last_seen_ms: seen });
      }
      touch("brokers");
      break;
    case "events": {
      const fresh = message.events.filter((one) => lastSeq === null || one.seq > lastSeq);
      const last = fresh.at(-1);
      if (last === undefined) break;
      lastSeq = last.seq;
      state.events = [...state.events, ...fresh];
      if (state.events.length > KEPT_EVENTS) state.events = state.events.slice(-KEPT_EVENTS);
      touch("events");
      break;
    }
    case "missed": // more than is sent again: pages read the journal instead
      state.events = [];
      state.returns += 1;
      touch("events");
      touch("link");
      break;
    case "stopping":
      become("restarting", "the server is stopping");
      break;
    case "dropped":
      become("reconnecting", message.why);
      break;
  }
}

function connect(): void {
  clearTimeout(timer);
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const after = lastSeq === null ? "" : `?after=${lastSeq}`;
  const mine = new WebSocket(`${scheme}://${location.host}/v1/live${after}`);
  socket = mine;
  heardAt = Date.now();
  mine.onmessage = (event) => {
    if (socket !== mine) return;
    heardAt = Date.now();
    took(JSON.parse(String(event.data)) as Live);
  };
  mine.onclose = (event) => {
    if (socket !== mine) return;
    socket = null;
    if (event.code === 4401) {
      become("refused", "log in to see what is live");
      dispatchEvent(new Event("routebook-login"));
      return;
    }
    if (event.code === 4403) return become("refused", event.reason === "" ? "this identity may not watch" : event.reason);
    if (event.code === 1012) become("restarting", "the server is stopping");
    else if (state.hello !== null && state.link !== "restarting") become("reconnecting", event.reason);
    else if (state.hello === null) become("connecting", event.reason);
    later();
  };
}

function later(): void {
  const wait = Math.min(5000, 250 * 2 ** failures) * (0.8 + Math.random() * 0.4);
  failures += 1;
  timer = setTimeout(connect, wait);
}

/** Somebody logged in or out: what was asked is asked again, as whoever it is now. */
export function becomeOther(): void {
  state.returns += 1;
  touch("link");
  reconnect();
}

/** Connect again at once: somebody does not want to wait. */
export function reconnect(): void {
  failures = 0;
  const old = socket;
  socket = null;
  old?.close();
  connect();
}

export function startLive(): void {
  connect();
  setInterval(() => {
    touch("clock");
    if (socket !== null && state.link === "live" && Date.now() - heardAt > SILENCE_MS) {
      become("reconnecting", "nothing was heard for a while");
      reconnect();
    }
    if (state.restartedAt !== null && Date.now() - state.restartedAt > 20_000) {
      state.restartedAt = null;
      touch("link");
    }
  }, 1000);
  addEventListener("online", reconnect);
}
