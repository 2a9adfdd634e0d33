/** Topic search and list; topics with no-route look-ups. */

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { get, type Misses, type TopicSearch, type TopicSummary, type TopicsPage as Page } from "../api.ts";
import { useQuery } from "../query.ts";
import { useLive } from "../live.ts";
import { fromUrl, SECOND } from "../time.ts";
import { setQuery, topicHref } from "../url.ts";
import { CREATED_ON_USE, isCreatedOnUse } from "../labels.ts";
import { Badge, CertaintyNote, Choice, count, Empty, Panel, plural, Problem, ReadOnly, Time, Loading, Scroll } from "../ui/components.tsx";
import { PastNote, TimePicker } from "../ui/time_picker.tsx";
import { CsvRows, sortRows, Table, type Column, type Sorting } from "../ui/table.tsx";

const PAGE = 500;
const FOUND = 200;

const COLUMNS: Column<TopicSummary>[] = [
  { key: "name", title: "Topic", width: "minmax(180px, 4fr)", sorts: true, phone: "main", csv: (row) => row.name, cell: (row) => <a href={topicHref(row.name)} title={row.name}>{row.name}</a> },
  { key: "brokers", title: "Brokers", width: "90px", sorts: true, right: true, csv: (row) => row.brokers, phone: "side", cell: (row) => <span class="num">{plural(row.brokers, "broker")}</span> },
  { key: "write", title: "Write queues", width: "110px", sorts: true, right: true, csv: (row) => row.write_queues, phone: "more", cell: (row) => row.write_queues === 0
    ? <ReadOnly /> : <span class="num">{count(row.write_queues)}<span class="phone-only"> write {row.write_queues === 1 ? "queue" : "queues"}</span></span> },
  { key: "read", title: "Read queues", width: "110px", sorts: true, right: true, csv: (row) => row.read_queues, phone: "more", cell: (row) => <span class="num">{count(row.read_queues)}<span class="phone-only"> read {row.read_queues === 1 ? "queue" : "queues"}</span></span> },
];

/** A link leads to the route at the same time. */
const PAST_COLUMNS = (at: number): Column<TopicSummary>[] =>
  COLUMNS.map((one) => (one.key === "name" ? { ...one, cell: (row: TopicSummary) => <a href={topicHref(row.name, { at: String(at) })} title={row.name}>{row.name}</a> } : one));

export function TopicsPage({ query }: { query: URLSearchParams }): JSX.Element {
  const at = fromUrl(query.get("at"));
  const q = query.get("q") ?? "";
  const sorting = { by: query.get("sort") ?? "", down: query.get("down") === "1" };
  const show = query.get("show") === "misses" ? "misses" : "all";
  const { overview } = useLive("overview");
  return (
    <>
      <div class="head"><h1>Topics</h1><span class="sub">{overview === null || at !== null ? "" : `${count(overview.topics)} topics`}</span>
        <div class="actions">{show === "misses" ? null : <TimePicker at={at} onPick={(ms) => setQuery({ at: ms === null ? null : String(ms) }, "push")} />}<Choice label="Show" value={show} options={[{ value: "all", label: "All" }, { value: "misses", label: "No-route look-ups" }]} onPick={(value) => setQuery({ show: value === "all" ? null : value, at: null }, "push")} /></div>
      </div>
      {show === "misses" ? <MissesList /> : at === null ? <Search q={q} sorting={sorting} /> : <PastTopics key={at} at={at} q={q} sorting={sorting} />}
    </>
  );
}

const sortBy = (next: Sorting): void => setQuery({ sort: next.by === "name" && !next.down ? null : next.by, down: next.down ? "1" : null });

function Search({ q, sorting }: { q: string; sorting: Sorting }): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => { if (matchMedia("(hover: hover)").matches) input.current?.focus({ preventScroll: true }); }, []);
  const found = useQuery(q === "" ? null : `search ${q}`, (signal) => get<TopicSearch>("/v1/search/topics", { q, limit: FOUND, past: "true" }, signal), { keep: true });
  const past = found.value?.past ?? [];
  const matches = sorting.by === "" ? found.value?.topics ?? [] : sortRows(found.value?.topics ?? [], COLUMNS, sorting);
  return (
    <>
      <div class="filters" role="search">
        <input ref={input} type="search" class="wide" placeholder="Part of the topic name" aria-label="Search topics" value={q} spellcheck={false} autocomplete="off" onInput={(event) => setQuery({ q: event.currentTarget.value.trim() })} />
        {q === "" ? null : <CsvRows file="topics" columns={COLUMNS} rows={matches} />}
        <span class="muted small" role="status">{q !== "" && found.value !== null ? `${plural(found.value.matches, "match", "matches")} among ${plural(found.value.total, "topic")}${found.value.matches > found.value.topics.length ? `, best ${found.value.topics.length} shown` : ""}` : ""}</span>
      </div>
      <div class="panel">
        {q === "" ? <AllTopics sorting={sorting} />
          : found.problem !== null ? <div class="in"><Problem problem={found.problem} again={found.again} /></div>
          : found.value === null ? <div class="in"><Loading lines={8} /></div>
          : <Table label="Topics found" columns={COLUMNS} rows={matches} id={(row) => row.name} sorting={sorting} onSort={sortBy}
              empty={<Empty title={`No topic name contains “${q}”.`}>{past.length > 0 ? "See the topics without a route below." : <>A topic that was deleted before the records begin may still be known to others: <a href={topicHref(q)}>open “{q}”</a>.</>}</Empty>} />}
      </div>
      {q === "" || past.length === 0 ? null : <Panel title="Deleted or lost: no route now" aside={plural(past.length, "topic")}><div class="names">{past.slice(0, 60).map((one) => <a key={one} href={topicHref(one)}>{one}</a>)}</div></Panel>}
    </>
  );
}

/** The topics that had a route at a past time. */
function PastTopics({ at, q, sorting }: { at: number; q: string; sorting: Sorting }): JSX.Element {
  return (
    <>
      <PastNote at={at} />
      <div class="filters" role="search">
        <input type="search" class="wide" placeholder="Part of the topic name" aria-label="Search topics" value={q} spellcheck={false} autocomplete="off" onInput={(event) => setQuery({ q: event.currentTarget.value.trim() })} />
        <a href={`/events?at=${at}`}>events at that time</a>
      </div>
      <div class="panel"><AllTopics key={q} sorting={sorting} at={at} q={q} /></div>
    </>
  );
}

/** All topics, now or at a past time; pages load as they scroll into view. */
function AllTopics({ sorting, at = null, q = "" }: { sorting: Sorting; at?: number | null; q?: string }): JSX.Element {
  const [rows, setRows] = useState<TopicSummary[]>([]);
  const [after, setAfter] = useState("");
  const page = useQuery(`page ${after}`, (signal) => get<Page>("/v1/topics", { after, limit: PAGE, at, ...(at === null ? {} : { q }) }, signal));
  const taken = useRef<Page | null>(null);
  useEffect(() => {
    if (page.value === null || taken.current === page.value) return;
    taken.current = page.value;
    const fresh = page.value.topics;
    setRows((old) => (after === "" ? fresh : [...old.filter((one) => one.name <= after), ...fresh]));
  }, [page.value]);
  if (page.problem !== null && rows.length === 0) return <div class="in"><Problem problem={page.problem} again={page.again} /></div>;
  if (page.value === null && rows.length === 0) return <div class="in"><Loading lines={8} /></div>;
  const next = page.value?.next ?? null;
  const byName = sorting.by === "";
  if (!byName && next !== null && next !== after) setTimeout(() => setAfter(next)); // another order needs all topics
  const shown = byName ? rows : sortRows(rows, COLUMNS, sorting);
  const columns = at === null ? COLUMNS : PAST_COLUMNS(at);
  return <><CertaintyNote certainty={page.value?.certainty} /><Table label="Topics" columns={columns} rows={shown} id={(row) => row.name} onEnd={() => { if (next !== null) setAfter(next); }} sorting={byName ? { by: "name", down: false } : sorting} onSort={sortBy}
    empty={at === null ? <Empty title="No topics.">Brokers register their topics.</Empty> : <Empty title={q === "" ? "No topic had a route at that time." : `No topic name with a route at that time contains “${q}”.`} />} /></>;
}

function MissesList(): JSX.Element {
  const misses = useQuery("misses", (signal) => get<Misses>("/v1/misses", { limit: 200 }, signal), { everyMs: 10 * SECOND });
  if (misses.problem !== null) return <Problem problem={misses.problem} again={misses.again} />;
  if (misses.value === null) return <Loading lines={6} />;
  const { since_ms } = misses.value;
  const topics = [...misses.value.topics].sort((a, b) => Number(isCreatedOnUse(a.topic) && !a.exists) - Number(isCreatedOnUse(b.topic) && !b.exists));
  return (
    <Panel title="Topics with no-route look-ups" flush aside={<>since <Time ms={since_ms} /></>}>
      {topics.length === 0 ? <Empty title="Every look-up found a route." /> : (
        <Scroll label="Topics with no-route look-ups"><table class="plain">
          <thead><tr><th>Topic</th><th>Now</th><th class="num">Misses</th><th class="num">Look-ups</th><th class="num">Clients</th></tr></thead>
          <tbody>{topics.map((one) => (
            <tr key={one.topic} data-key={one.topic}><td class="break"><a href={topicHref(one.topic)}>{one.topic}</a></td>
              <td>{one.exists ? <Badge tone="ok">has a route</Badge> : isCreatedOnUse(one.topic) ? <Badge tone="none" title={CREATED_ON_USE}>expected</Badge> : <Badge tone="bad">no route</Badge>}</td>
              <td class="num">{count(one.misses)}</td><td class="num">{count(one.lookups)}</td><td class="num">{count(one.clients)}</td></tr>
          ))}</tbody>
        </table></Scroll>
      )}
      {topics.some((one) => isCreatedOnUse(one.topic)) ? <p class="in small muted">expected: {CREATED_ON_USE}</p> : null}
    </Panel>
  );
}
