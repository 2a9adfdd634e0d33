/** What happens, as it happens, and what happened before: one list, newest first, with filters in the address. */

import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, Refusal, type LiveEvent, type Records } from "../api.ts";
import { wantsEvent, type EventFilter } from "../filters.ts";
import { now, state, useLive, watchKinds } from "../live.ts";
import { fromUrl } from "../time.ts";
import { setQuery } from "../url.ts";
import { count, Empty, Note, plural, Problem, Time, Waiting } from "../ui/bits.tsx";
import { Subject } from "../ui/events.tsx";
import { Icon, Sign } from "../ui/icons.tsx";
import { MomentPicker } from "../ui/moment.tsx";
import { Table, type Column } from "../ui/table.tsx";
import { GROUPS, kindWord, KINDS, QUIET_KINDS, said, tone } from "../words.ts";
import { Pick } from "./brokers.tsx";

const COLUMNS: Column<LiveEvent>[] = [
  { key: "at", title: "When", width: "150px", phone: "side", cell: (one) => <a class="plain-link" href={`/events?at=${one.at}`} title="link to this moment"><Time ms={one.at} /></a> },
  { key: "kind", title: "What", width: "minmax(150px, 0.8fr)", phone: "main", cell: (one) => <span class="row nowrap"><Sign tone={tone(one)} />{kindWord(one.kind)}</span> },
  { key: "said", title: "Told", width: "minmax(220px, 4fr)", phone: "more", cell: (one) => <span title={said(one)}><Subject event={one} /> {said(one)}</span> },
  { key: "then", title: "Look then", width: "90px", phone: "no", cell: (one) => <a class="plain-link" href={`/brokers?at=${one.at}`}>brokers then</a> },
  { key: "seq", title: "Record", width: "84px", right: true, phone: "no", cell: (one) => <span class="num muted">{one.seq}</span> },
];

export function EventsPage({ query }: { query: URLSearchParams }): JSX.Element {
  const at = fromUrl(query.get("at"));
  const group = GROUPS.find((one) => one.key === query.get("group"));
  const kind = query.get("kind") ?? "";
  const filter: EventFilter = useMemo(() => ({
    kinds: new Set(kind !== "" ? [kind] : group?.kinds ?? []), broker: query.get("broker") ?? "", topic: query.get("topic") ?? "", q: query.get("q") ?? "",
  }), [query.toString()]);
  const [paused, setPaused] = useState<number | null>(null); // the newest number that is shown
  const { events } = useLive("events");
  const past = usePast(at, filter);
  useEffect(() => {
    if (!kind.endsWith("_minute")) return;
    watchKinds([kind]);
    return () => watchKinds(null);
  }, [kind]);

  const live = useMemo(() => (at !== null ? [] : events.filter((one) => wantsEvent(one, filter, said)).reverse()), [events, filter, at]);
  const rows = useMemo(() => {
    const shown = paused === null ? live : live.filter((one) => one.seq <= paused);
    const oldest = shown.at(-1)?.seq ?? Infinity;
    const older = past.records.filter((one) => one.seq < oldest && (filter.q === "" || wantsEvent(one, { ...filter, kinds: new Set([one.kind]) }, said)));
    return [...shown, ...older];
  }, [live, past.records, paused, filter]);
  const waiting = paused === null ? 0 : live.filter((one) => one.seq > paused).length;
  const stop = (): void => setPaused(state.events.at(-1)?.seq ?? past.records[0]?.seq ?? 0);
  const filtered = [...query.keys()].some((key) => key !== "at");
  return (
    <>
      <div class="head"><h1>Events</h1>
        <div class="actions">
          <MomentPicker at={at} onPick={(ms) => setQuery({ at: ms === null ? null : String(ms) }, "push")} label="Until" />
          {at === null ? <button type="button" class="button" aria-pressed={paused !== null} onClick={() => (paused === null ? stop() : setPaused(null))} data-testid="pause">
            <Icon name={paused === null ? "pause" : "play"} />{paused === null ? "Pause" : `Resume${waiting > 0 ? ` (${count(waiting)} new)` : ""}`}</button> : null}
        </div>
      </div>
      <div class="filters" role="search">
        <input type="search" placeholder="Search what is told" aria-label="Search events" value={filter.q} onInput={(event) => setQuery({ q: event.currentTarget.value })} />
        <Pick label="About" value={group?.key ?? ""} options={GROUPS.map((one) => one.key)} words={Object.fromEntries(GROUPS.map((one) => [one.key, one.label]))} onPick={(value) => setQuery({ group: value, kind: null })} />
        <Pick label="Kind" value={kind} options={KINDS} words={Object.fromEntries(KINDS.map((one) => [one, kindWord(one)]))} onPick={(value) => setQuery({ kind: value, group: null })} />
        <input type="text" class="short" placeholder="Broker" aria-label="Of this broker" value={filter.broker} onChange={(event) => setQuery({ broker: event.currentTarget.value.trim() })} />
        <input type="text" class="short" placeholder="Topic" aria-label="Of this topic" value={filter.topic} onChange={(event) => setQuery({ topic: event.currentTarget.value.trim() })} />
        <span class="muted small" role="status">{plural(rows.length, "event")} loaded</span>
        {filtered ? <button type="button" class="button quiet" onClick={() => setQuery({ q: null, group: null, kind: null, broker: null, topic: null })}>Clear</button> : null}
      </div>
      {at === null ? null : <Note tone="info"><span data-testid="past">What happened until <strong><Time ms={at} /></strong>, newest first. <a href={`/brokers?at=${at}`}>Brokers at that moment</a></span></Note>}
      {past.problem !== null ? <Problem problem={past.problem} again={past.again} /> : null}
      <div class="panel">
        {rows.length === 0 && past.busy ? <div class="in"><Waiting lines={8} /></div>
          : <Table label="Events" columns={COLUMNS} rows={rows} id={(one) => String(one.seq)} onEnd={past.older}
              empty={<Empty title={past.more ? "None in the newest records." : "No such event is on record."}>{past.more ? <button type="button" class="button top-gap" onClick={past.older}>Look further back</button> : null}</Empty>} />}
        {rows.length > 0 && past.more ? <div class="in row"><button type="button" class="button" disabled={past.busy} onClick={past.older}>{past.busy ? "Looking…" : "Older events"}</button><span class="muted small">{past.reached === null ? "" : <>looked back to record {count(past.reached)}</>}</span></div> : null}
      </div>
    </>
  );
}

interface Past {
  records: LiveEvent[];
  more: boolean;
  busy: boolean;
  reached: number | null;
  problem: Refusal | null;
  older: () => void;
  again: () => void;
}

/** What the journal has, page after page; begun anew when the filter changes. */
function usePast(at: number | null, filter: EventFilter): Past {
  const [records, setRecords] = useState<LiveEvent[]>([]);
  const [next, setNext] = useState<{ before: number | null; more: boolean }>({ before: null, more: true });
  const [busy, setBusy] = useState(true);
  const [problem, setProblem] = useState<Refusal | null>(null);
  const key = `${at ?? ""} ${[...filter.kinds].join()} ${filter.broker} ${filter.topic}`;
  const running = useRef<AbortController | null>(null);

  const load = (before: number | null, first: boolean): void => {
    running.current?.abort();
    const abort = new AbortController();
    running.current = abort;
    setBusy(true);
    const query = {
      limit: 200, before, at: before === null && at !== null ? Math.min(at, now()) : null, kind: filter.kinds.size > 0 ? [...filter.kinds] : QUIET_KINDS,
      broker: filter.broker, topic: filter.topic,
    };
    get<Records>("/v1/records", query, abort.signal).then((found) => {
      if (abort.signal.aborted) return;
      setRecords((old) => (first ? found.records : [...old, ...found.records]));
      setNext({ before: found.scanned_to ?? found.records.at(-1)?.seq ?? null, more: found.more });
      setProblem(null);
      setBusy(false);
    }, (failed: unknown) => {
      if (abort.signal.aborted) return;
      setProblem(failed instanceof Refusal ? failed : new Refusal(0, null, String(failed), null));
      setBusy(false);
    });
  };
  useEffect(() => {
    setRecords([]);
    setNext({ before: null, more: true });
  }, [key]);
  // What comes live begins where the greeting says: what was before is asked for after it.
  const { hello, returns } = useLive("link");
  useEffect(() => {
    load(null, true);
    return () => running.current?.abort();
  }, [key, at === null ? `${hello?.boot ?? ""} ${returns}` : ""]);
  return {
    records, busy, problem, more: next.more, reached: next.before,
    older: () => { if (!busy && next.more && problem === null) load(next.before, false); },
    again: () => load(null, true),
  };
}
