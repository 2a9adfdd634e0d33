/** Live state for all pages: one WebSocket, at most one render per frame. */

import { useEffect, useState } from "preact/hooks";
import { QUIET_KINDS } from "./labels.ts";
import type { BrokerRow, Hello, Live, LiveEvent, Overview } from "./api.ts";

export type Link = "connecting" | "live" | "reconnecting" | "restarting" | "refused";
export type Part = "link" | "overview" | "brokers" | "events" | "clock";

const KEPT_EVENTS = 5000;
const TIMEOUT_MS = 15_000; // the overview comes every second

export interface State {
  link: Link;
  why: string;
  since: number; // time of the last change of `link`
  restartedAt: number | null; // time of a detected server restart, for a notice
  hello: Hello | null;
  offset: number; // server clock minus local clock
  overview: Overview | null;
  brokers: Map<string, BrokerRow>;
  events: LiveEvent[]; // oldest first
  returns: number; // number of reconnects; pages query again after each
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
let scheduled = false;

function flush(): void {
  scheduled = false;
  const parts = [...changed];
  changed.clear();
  const notified = new Set<() => void>();
  for (const part of parts) for (const listener of listeners.get(part) ?? []) notified.add(listener);
  for (const listener of notified) listener();
}

/** A hidden tab gets no frames; it renders when it becomes visible. */
function touch(part: Part): void {
  changed.add(part);
  if (scheduled) return;
  scheduled = true;
  requestAnimationFrame(flush);
}

/** Render again when one of these parts changes. */
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

/** The current server time; renders again every second. */
export function useNow(): number {
  useLive("clock");
  return now();
}

export function now(): number {
  return Date.now() + state.offset;
}

function setLink(link: Link, why = ""): void {
  if (state.link !== link) state.since = Date.now();
  state.link = link;
  state.why = why;
  touch("link");
}

let socket: WebSocket | null = null;
let kinds: readonly string[] | null = null;

/** Also receive events of these kinds, such as the per-minute counts. Null: the default kinds. */
export function watchKinds(wanted: readonly string[] | null): void {
  kinds = wanted;
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(wanted === null ? { type: "watch", kinds: QUIET_KINDS } : { type: "watch", kinds: [...QUIET_KINDS, ...wanted] }));
}

let lastSeq: number | null = null;
let lastMessageAt = 0;
let failures = 0;
let timer: number | undefined;

function handleMessage(message: Live): void {
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
      setLink("live");
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
    case "missed": // too many events to replay: pages read the journal instead
      state.events = [];
      state.returns += 1;
      touch("events");
      touch("link");
      break;
    case "stopping":
      setLink("restarting", "the server is stopping");
      break;
    case "dropped":
      setLink("reconnecting", message.why);
      break;
  }
}

function connect(): void {
  clearTimeout(timer);
  const scheme = location.protocol === "https:" ? "wss" : "ws";
  const after = lastSeq === null ? "" : `?after=${lastSeq}`;
  const current = new WebSocket(`${scheme}://${location.host}/v1/live${after}`);
  socket = current;
  lastMessageAt = Date.now();
  current.onmessage = (event) => {
    if (socket !== current) return;
    lastMessageAt = Date.now();
    handleMessage(JSON.parse(String(event.data)) as Live);
  };
  current.onclose = (event) => {
    if (socket !== current) return;
    socket = null;
    if (event.code === 4401) {
      setLink("refused", "log in to continue");
      dispatchEvent(new Event("routebook-login"));
      return;
    }
    if (event.code === 4403) return setLink("refused", event.reason === "" ? "this identity has no permission" : event.reason);
    if (event.code === 1012) setLink("restarting", "the server is stopping");
    else if (state.hello !== null && state.link !== "restarting") setLink("reconnecting", event.reason);
    else if (state.hello === null) setLink("connecting", event.reason);
    scheduleReconnect();
  };
}

function scheduleReconnect(): void {
  const wait = Math.min(5000, 250 * 2 ** failures) * (0.8 + Math.random() * 0.4);
  failures += 1;
  timer = setTimeout(connect, wait);
}

/** After a login or logout: reconnect, and query everything again. */
export function identityChanged(): void {
  state.returns += 1;
  touch("link");
  reconnect();
}

/** Reconnect at once. */
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
    if (socket !== null && state.link === "live" && Date.now() - lastMessageAt > TIMEOUT_MS) {
      setLink("reconnecting", "no message from the server");
      reconnect();
    }
    if (state.restartedAt !== null && Date.now() - state.restartedAt > 20_000) {
      state.restartedAt = null;
      touch("link");
    }
  }, 1000);
  addEventListener("online", reconnect);
}
