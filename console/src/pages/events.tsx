/** Live and past events in one list, newest first, with filters in the URL. */

import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { get, ApiError, type LiveEvent, type Records } from "../api.ts";
import { wantsEvent, type EventFilter } from "../filters.ts";
import { now, state, useLive, watchKinds } from "../live.ts";
import { fromUrl } from "../time.ts";
import { setQuery } from "../url.ts";
import { count, Empty, Note, plural, Problem, Time, Loading } from "../ui/components.tsx";
import { Subject } from "../ui/events.tsx";
import { Icon, Sign } from "../ui/icons.tsx";
import { TimePicker } from "../ui/time_picker.tsx";
import { CsvRows, Table, type Column } from "../ui/table.tsx";
import { groupEvents, isRoutine, type EventGroup } from "../event_groups.ts";
import { GROUPS, kindLabel, KINDS, QUIET_KINDS, describe, describeGroup, tone } from "../labels.ts";
import { Pick } from "./brokers.tsx";

const COLUMNS: Column<EventGroup>[] = [
  { key: "at", title: "When", width: "150px", phone: "side", csv: ({ event }) => new Date(event.at).toISOString(), cell: ({ event: one }) => <a class="plain-link" href={`/events?at=${one.at}`} title="link to this time"><Time ms={one.at} /></a> },
  { key: "kind", title: "Kind", width: "minmax(150px, 0.8fr)", phone: "main", csv: ({ event }) => event.kind, cell: ({ event: one }) => <span class="row nowrap"><Sign tone={tone(one)} />{kindLabel(one.kind)}</span> },
  { key: "details", title: "Details", width: "minmax(220px, 4fr)", phone: "more", csv: ({ event, brokers }) => `${brokers.length > 1 ? brokers.join(" ") : event.broker ?? event.topic ?? ""} ${describeGroup(event, brokers.length)}`.trim(),
    cell: ({ event: one, brokers }) => <span title={`${brokers.length > 1 ? `${brokers.join(", ")} ` : ""}${describeGroup(one, brokers.length)}`}>{brokers.length > 1 ? <strong>{brokers.length} brokers</strong> : <Subject event={one} />} {describeGroup(one, brokers.length)}</span> },
  { key: "then", title: "Fleet", width: "90px", phone: "no", cell: ({ event: one }) => <a class="plain-link" href={`/brokers?at=${one.at}`}>at that time</a> },
  { key: "seq", title: "Record", width: "84px", right: true, phone: "no", csv: ({ event }) => event.seq, cell: ({ event: one }) => <span class="num muted">{one.seq}</span> },
];

export function EventsPage({ query }: { query: URLSearchParams }): JSX.Element {
  const at = fromUrl(query.get("at"));
  const group = GROUPS.find((one) => one.key === query.get("group"));
  const kind = query.get("kind") ?? "";
  const filter: EventFilter = useMemo(() => ({
    kinds: new Set(kind !== "" ? [kind] : group?.kinds ?? []), broker: query.get("broker") ?? "", topic: query.get("topic") ?? "", q: query.get("q") ?? "",
  }), [query.toString()]);
  const [paused, setPaused] = useState<number | null>(null); // newest sequence number shown
  const { events } = useLive("events");
  const past = usePast(at, filter);
  useEffect(() => {
    if (!kind.endsWith("_minute")) return;
    watchKinds([kind]);
    return () => watchKinds(null);
  }, [kind]);

  const live = useMemo(() => (at !== null ? [] : events.filter((one) => wantsEvent(one, filter, describe)).reverse()), [events, filter, at]);
  const rows = useMemo(() => {
    const shown = paused === null ? live : live.filter((one) => one.seq <= paused);
    const oldest = shown.at(-1)?.seq ?? Infinity;
    const older = past.records.filter((one) => one.seq < oldest && (filter.q === "" || wantsEvent(one, { ...filter, kinds: new Set([one.kind]) }, describe)));
    return [...shown, ...older];
  }, [live, past.records, paused, filter]);
  const routine = query.get("routine") === "1" || kind !== "";
  const each = query.get("bursts") === "0";
  const groups = useMemo(() => (each ? rows.filter((one) => routine || !isRoutine(one)).map((event) => ({ event, brokers: event.broker === undefined ? [] : [event.broker], count: 1 })) : groupEvents(rows, Infinity, routine)), [rows, routine, each]);
  const waiting = paused === null ? 0 : live.filter((one) => one.seq > paused).length;
  const stop = (): void => setPaused(state.events.at(-1)?.seq ?? past.records[0]?.seq ?? 0);
  const filtered = [...query.keys()].some((key) => key !== "at");
  return (
    <>
      <div class="head"><h1>Events</h1>
        <div class="actions">
          <TimePicker at={at} onPick={(ms) => setQuery({ at: ms === null ? null : String(ms) }, "push")} label="Until" />
          {at === null ? <button type="button" class="button" aria-pressed={paused !== null} onClick={() => (paused === null ? stop() : setPaused(null))} data-testid="pause">
            <Icon name={paused === null ? "pause" : "play"} />{paused === null ? "Pause" : `Resume${waiting > 0 ? ` (${count(waiting)} new)` : ""}`}</button> : null}
        </div>
      </div>
      <div class="filters" role="search">
        <input type="search" placeholder="Search events" aria-label="Search events" value={filter.q} onInput={(event) => setQuery({ q: event.currentTarget.value })} />
        <Pick label="Group" value={group?.key ?? ""} options={GROUPS.map((one) => one.key)} words={Object.fromEntries(GROUPS.map((one) => [one.key, one.label]))} onPick={(value) => setQuery({ group: value, kind: null })} />
        <Pick label="Kind" value={kind} options={KINDS} words={Object.fromEntries(KINDS.map((one) => [one, kindLabel(one)]))} onPick={(value) => setQuery({ kind: value, group: null })} />
        <input type="text" class="short" placeholder="Broker" aria-label="Filter by broker" value={filter.broker} onChange={(event) => setQuery({ broker: event.currentTarget.value.trim() })} />
        <input type="text" class="short" placeholder="Topic" aria-label="Filter by topic" value={filter.topic} onChange={(event) => setQuery({ topic: event.currentTarget.value.trim() })} />
        <label class="check"><input type="checkbox" checked={routine} disabled={kind !== ""} onChange={(event) => setQuery({ routine: event.currentTarget.checked ? "1" : null })} />Routine</label>
        <label class="check"><input type="checkbox" checked={!each} onChange={(event) => setQuery({ bursts: event.currentTarget.checked ? null : "0" })} />Group bursts</label>
        <span class="muted small" role="status">{plural(rows.length, "event")} loaded{groups.length < rows.length ? `, ${plural(groups.length, "row")}` : ""}</span>
        <CsvRows file="events" columns={COLUMNS} rows={groups} />
        {filtered ? <button type="button" class="button quiet" onClick={() => setQuery({ q: null, group: null, kind: null, broker: null, topic: null, routine: null, bursts: null })}>Clear</button> : null}
      </div>
      {at === null ? null : <Note tone="info"><span data-testid="past">Events until <strong><Time ms={at} /></strong>, newest first. <a href={`/brokers?at=${at}`}>Fleet at that time</a></span></Note>}
      {past.problem !== null ? <Problem problem={past.problem} again={past.again} /> : null}
      <div class="panel">
        {rows.length === 0 && past.busy ? <div class="in"><Loading lines={8} /></div>
          : <Table label="Events" columns={COLUMNS} rows={groups} id={(one) => String(one.event.seq)} onEnd={past.older}
              empty={<Empty title={past.more ? "No matches in the newest records." : "No events match."}>{past.more ? <button type="button" class="button top-gap" onClick={past.older}>Search further back</button> : null}</Empty>} />}
        {rows.length > 0 && past.more ? <div class="in row"><button type="button" class="button" disabled={past.busy} onClick={past.older}>{past.busy ? "Loading…" : "Older events"}</button><span class="muted small">{past.reached === null ? "" : <>searched back to record {count(past.reached)}</>}</span></div> : null}
      </div>
    </>
  );
}

interface Past {
  records: LiveEvent[];
  more: boolean;
  busy: boolean;
  reached: number | null;
  problem: ApiError | null;
  older: () => void;
  again: () => void;
}

/** Past events from the journal, in pages; restarts when the filter changes. */
function usePast(at: number | null, filter: EventFilter): Past {
  const [records, setRecords] = useState<LiveEvent[]>([]);
  const [next, setNext] = useState<{ before: number | null; more: boolean }>({ before: null, more: true });
  const [busy, setBusy] = useState(true);
  const [problem, setProblem] = useState<ApiError | null>(null);
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
      setProblem(failed instanceof ApiError ? failed : new ApiError(0, null, String(failed), null));
      setBusy(false);
    });
  };
  useEffect(() => {
    setRecords([]);
    setNext({ before: null, more: true });
  }, [key]);
  // Live events start at the hello message; older ones come from the journal.
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
