/** Command palette (Ctrl K): go to a broker, topic or page by part of its name. */

import type { JSX, TargetedKeyboardEvent } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { get, type TopicSearch } from "../api.ts";
import { useQuery } from "../query.ts";
import { state } from "../live.ts";
import { brokerHref, go, topicHref, withQuery } from "../url.ts";
import { plural } from "./components.tsx";
import { Icon, type IconName } from "./icons.tsx";

interface Hit {
  href: string;
  icon: IconName;
  text: string;
  note: string;
}

const PAGES: Hit[] = (["overview", "brokers", "topics", "compare", "events", "reports", "admin"] as const).map((page) => (
  { href: page === "overview" ? "/" : `/${page}`, icon: page, text: page.charAt(0).toUpperCase() + page.slice(1), note: "page" }));

function findBrokers(q: string, most: number): Hit[] {
  const wanted = q.toLowerCase();
  const found = new Map<string, Hit>();
  for (const row of state.brokers.values()) {
    if (found.size >= most) break;
    if (found.has(row.name)) continue;
    if (row.name.toLowerCase().includes(wanted) || row.addr.includes(wanted)) {
      found.set(row.name, { href: brokerHref(row.name), icon: "brokers", text: row.name, note: `broker · ${row.state} · ${row.addr}` });
    }
  }
  return [...found.values()];
}

export function Palette({ onClose }: { onClose: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [q, setQ] = useState("");
  const [at, setAt] = useState(0);
  useEffect(() => { dialog.current?.showModal(); }, []);

  const found = useQuery(q === "" ? null : q, (signal) => get<TopicSearch>("/v1/search/topics", { q, limit: 8 }, signal), { keep: true });
  const topics: Hit[] = (found.value?.topics ?? []).map((one) => (
    { href: topicHref(one.name), icon: "topics", text: one.name, note: `topic · ${plural(one.brokers, "broker")}` }));
  const pages = PAGES.filter((one) => one.text.toLowerCase().startsWith(q.toLowerCase()));
  const hits = q === "" ? PAGES : [...pages, ...findBrokers(q, 6), ...topics];
  const all = q !== "" && (found.value?.matches ?? 0) > topics.length
    ? [...hits, { href: withQuery("/topics", { q }), icon: "search" as const, text: `All ${plural(found.value?.matches ?? 0, "topic")} with “${q}”`, note: "" }] : hits;
  const chosen = Math.min(at, all.length - 1);

  const open = (hit: Hit | undefined): void => {
    if (hit === undefined) return;
    onClose();
    go(hit.href);
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
        <input type="text" value={q} autoFocus placeholder="Broker, topic, address or page" role="combobox" aria-expanded="true" aria-controls="palette-hits" spellcheck={false}
          aria-activedescendant={all.length > 0 ? `hit-${chosen}` : undefined} aria-label="Go to broker, topic, address or page" autocomplete="off"
          onInput={(event) => { setQ(event.currentTarget.value.trim()); setAt(0); }} onKeyDown={key} />
        <kbd>Esc</kbd>
      </div>
      <div id="palette-hits" role="listbox" aria-label="Results">
        {all.map((hit, index) => (
          <div key={hit.href + hit.icon} id={`hit-${index}`} role="option" aria-selected={index === chosen} onClick={() => open(hit)} onMouseMove={() => setAt(index)}>
            <Icon name={hit.icon} /><span class="clip">{hit.text}</span><span class="note-text clip">{hit.note}</span>
          </div>
        ))}
      </div>
      {all.length === 0 ? <p class="palette-none" role="status">{found.busy ? "Searching…" : "No matches."}</p> : null}
    </dialog>
  );
}
