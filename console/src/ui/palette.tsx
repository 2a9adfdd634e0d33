/** Command palette (Ctrl K): go to a broker, topic, report, setting or page, or copy a command, by part of its name. */

import type { JSX, TargetedKeyboardEvent } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { get, type Setting, type TopicSearch } from "../api.ts";
import { useQuery } from "../query.ts";
import { state } from "../live.ts";
import { brokerHref, go, topicHref, withQuery } from "../url.ts";
import { REPORT_TITLES } from "../labels.ts";
import { plural } from "./components.tsx";
import { Icon, type IconName } from "./icons.tsx";

interface Hit {
  href: string; // empty: `text` is a command to copy
  icon: IconName;
  text: string;
  note: string;
}

const PAGES: Hit[] = (["overview", "brokers", "topics", "controller", "compare", "events", "reports", "admin"] as const).map((page) => (
  { href: page === "overview" ? "/" : `/${page}`, icon: page, text: page.charAt(0).toUpperCase() + page.slice(1), note: "page" }));

const REPORTS: Hit[] = Object.entries(REPORT_TITLES).map(([key, text]) => ({ href: `/reports?report=${key}`, icon: "reports", text, note: "report" }));

const COMMANDS: Hit[] = [
  ["routebook why TOPIC --at 03:12", "why a topic has no route"], ["routebook maintenance plan BROKER", "whether a broker can be restarted"],
  ["routebook route TOPIC", "route of a topic"], ["routebook topics -l", "topics with brokers and queues"], ["routebook brokers", "brokers and addresses"],
  ["routebook diff NS NS", "compare NameServers"], ["routebook doctor", "check NameServers and brokers"], ["routebook history TOPIC", "changes of a route"],
  ["routebook watch", "events as they happen"], ["routebook broker wipe BROKER", "remove write permission"], ["routebook broker restore BROKER", "restore write permission"],
  ["routebook topic delete TOPIC", "delete a topic"], ["routebook kv list NAMESPACE", "KV configuration"], ["routebook config get", "settings"], ["routebook lake build", "build the reports"],
].map(([text = "", about = ""]) => ({ href: "", icon: "copy", text, note: `command · ${about} · copies it` }));

/** Exact matches first, then names that end or begin with the text. */
function rank(text: string, q: string): number {
  const [name, wanted] = [text.toLowerCase(), q.toLowerCase()];
  return name === wanted ? 0 : name.endsWith(wanted) ? 1 : name.startsWith(wanted) ? 2 : 3;
}

function findBrokers(q: string, most: number): Hit[] {
  const wanted = q.toLowerCase();
  const found = new Map<string, Hit>();
  for (const row of state.brokers.values()) {
    if (found.has(row.name)) continue;
    if (row.name.toLowerCase().includes(wanted) || row.addr.includes(wanted)) {
      found.set(row.name, { href: brokerHref(row.name), icon: "brokers", text: row.name, note: `broker · ${row.state} · ${row.addr}` });
    }
  }
  return [...found.values()].sort((a, b) => rank(a.text, q) - rank(b.text, q)).slice(0, most);
}

export function Palette({ onClose }: { onClose: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [q, setQ] = useState("");
  const [at, setAt] = useState(0);
  useEffect(() => { dialog.current?.showModal(); }, []);

  const found = useQuery(q === "" ? null : q, (signal) => get<TopicSearch>("/v1/search/topics", { q, limit: 8, past: "true" }, signal), { keep: true });
  const settings = useQuery("settings", (signal) => get<{ settings: Setting[] }>("/v1/settings", {}, signal), { keep: true });
  const topics: Hit[] = (found.value?.topics ?? []).map((one) => (
    { href: topicHref(one.name), icon: "topics", text: one.name, note: `topic · ${plural(one.brokers, "broker")}` }));
  const past: Hit[] = (found.value?.past ?? []).slice(0, 5).map((name) => ({ href: topicHref(name), icon: "topics", text: name, note: "topic · deleted or lost, with history" }));
  const wanted = q.toLowerCase();
  const having = (hits: Hit[], most: number): Hit[] => (wanted.length < 2 ? [] : hits.filter((one) => `${one.text} ${one.note}`.toLowerCase().includes(wanted)).slice(0, most));
  const keys: Hit[] = (settings.value?.settings ?? []).filter((one) => wanted.length > 1 && one.key.toLowerCase().includes(wanted)).slice(0, 5)
    .map((one) => ({ href: withQuery("/admin", { tab: "settings", q: one.key }), icon: "gear", text: one.key, note: `setting · ${one.value}` }));
  const pages = PAGES.filter((one) => one.text.toLowerCase().startsWith(wanted));
  const named = [...findBrokers(q, 6), ...topics, ...past].map((hit, index) => ({ hit, index })).sort((a, b) => rank(a.hit.text, q) - rank(b.hit.text, q) || a.index - b.index).map((one) => one.hit);
  const hits = q === "" ? PAGES : [...pages, ...named, ...having(REPORTS, 4), ...keys, ...having(COMMANDS, 4)];
  const all = q !== "" && (found.value?.matches ?? 0) > topics.length
    ? [...hits, { href: withQuery("/topics", { q }), icon: "search" as const, text: `All ${plural(found.value?.matches ?? 0, "topic")} with “${q}”`, note: "" }] : hits;
  const chosen = Math.min(at, all.length - 1);

  const open = (hit: Hit | undefined): void => {
    if (hit === undefined) return;
    onClose();
    if (hit.href === "") navigator.clipboard?.writeText(hit.text).catch(() => undefined);
    else go(hit.href);
  };
  const key = (event: TargetedKeyboardEvent<HTMLInputElement>): void => {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
    if (step !== 0) {
      event.preventDefault();
      setAt((chosen + step + all.length) % Math.max(1, all.length));
    } else if (event.key === "Enter") {
      event.preventDefault();
      open(all[chosen]);
    }
  };
  return (
    <dialog class="palette" ref={dialog} onClose={onClose} aria-label="Go to" onClick={(event) => { if (event.target === dialog.current) onClose(); }}>
      <div class="palette-box">
        <Icon name="search" />
        <input type="text" value={q} autoFocus placeholder="Broker, topic, report, setting, command" role="combobox" aria-expanded="true" aria-controls="palette-hits" spellcheck={false}
          aria-activedescendant={all.length > 0 ? `hit-${chosen}` : undefined} aria-label="Go to broker, topic, report, setting, command or page" autocomplete="off"
          onInput={(event) => { setQ(event.currentTarget.value.trim()); setAt(0); }} onKeyDown={key} />
        <kbd>Esc</kbd>
      </div>
      <div id="palette-hits" role="listbox" aria-label="Results">
        {all.map((hit, index) => (
          <div key={hit.href + hit.icon + hit.text} id={`hit-${index}`} role="option" aria-selected={index === chosen} onClick={() => open(hit)} onMouseMove={() => setAt(index)}>
            <Icon name={hit.icon} /><span class="clip">{hit.text}</span><span class="note-text clip">{hit.note}</span>
          </div>
        ))}
      </div>
      {all.length === 0 ? <p class="palette-none" role="status">{found.busy ? "Searching…" : "No matches."}</p> : null}
    </dialog>
  );
}
