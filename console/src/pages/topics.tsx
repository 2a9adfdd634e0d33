/** Find a topic among tens of thousands while typing; see which are asked for in vain. */

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { get, type Misses, type TopicSearch, type TopicSummary, type TopicsPage as Page } from "../api.ts";
import { useAsk } from "../ask.ts";
import { useLive } from "../live.ts";
import { SECOND } from "../time.ts";
import { setQuery, topicHref } from "../url.ts";
import { Badge, Choice, count, Empty, Panel, plural, Problem, Time, Waiting, Scroll } from "../ui/bits.tsx";
import { Table, type Column } from "../ui/table.tsx";

const PAGE = 500;
const FOUND = 200;

const COLUMNS: Column<TopicSummary>[] = [
  { key: "name", title: "Topic", width: "minmax(180px, 4fr)", phone: "main", cell: (row) => <a href={topicHref(row.name)} title={row.name}>{row.name}</a> },
  { key: "brokers", title: "Brokers", width: "90px", right: true, phone: "side", cell: (row) => <span class="num">{plural(row.brokers, "broker")}</span> },
  { key: "write", title: "Write queues", width: "110px", right: true, phone: "more", cell: (row) => row.write_queues === 0
    ? <Badge tone="warn">no writes</Badge> : <span class="num">{count(row.write_queues)}<span class="phone-only"> write queues</span></span> },
  { key: "read", title: "Read queues", width: "110px", right: true, phone: "more", cell: (row) => <span class="num">{count(row.read_queues)}<span class="phone-only"> read queues</span></span> },
];

export function TopicsPage({ query }: { query: URLSearchParams }): JSX.Element {
  const show = query.get("show") === "misses" ? "misses" : "all";
  const { overview } = useLive("overview");
  return (
    <>
      <div class="head"><h1>Topics</h1><span class="sub">{overview === null ? "" : `${count(overview.topics)} known`}</span>
        <div class="actions"><Choice label="Show" value={show} options={[{ value: "all", label: "All" }, { value: "misses", label: "Asked in vain" }]} onPick={(value) => setQuery({ show: value === "all" ? null : value }, "push")} /></div>
      </div>
      {show === "misses" ? <MissesList /> : <Search q={query.get("q") ?? ""} />}
    </>
  );
}

function Search({ q }: { q: string }): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  useEffect(() => { if (matchMedia("(hover: hover)").matches) input.current?.focus({ preventScroll: true }); }, []);
  const found = useAsk(q === "" ? null : `search ${q}`, (signal) => get<TopicSearch>("/v1/search/topics", { q, limit: FOUND }, signal), { keep: true });
  return (
    <>
      <div class="filters" role="search">
        <input ref={input} type="search" class="wide" placeholder="Part of a topic's name" aria-label="Search topics" value={q} spellcheck={false} autocomplete="off" onInput={(event) => setQuery({ q: event.currentTarget.value.trim() })} />
        <span class="muted small" role="status">{q !== "" && found.value !== null ? `${plural(found.value.matches, "match", "matches")} among ${plural(found.value.total, "topic")}${found.value.matches > found.value.topics.length ? `, the best ${found.value.topics.length} are shown` : ""}` : ""}</span>
      </div>
      <div class="panel">
        {q === "" ? <AllTopics />
          : found.problem !== null ? <div class="in"><Problem problem={found.problem} again={found.again} /></div>
          : found.value === null ? <div class="in"><Waiting lines={8} /></div>
          : <Table label="Topics found" columns={COLUMNS} rows={found.value.topics} id={(row) => row.name}
              empty={<Empty title={`No topic has “${q}” in its name.`}>A topic that is gone can still have a past: <a href={topicHref(q)}>look at “{q}”</a>.</Empty>} />}
      </div>
    </>
  );
}

/** Pages of the list, asked for as they come into view. */
function AllTopics(): JSX.Element {
  const [rows, setRows] = useState<TopicSummary[]>([]);
  const [after, setAfter] = useState("");
  const page = useAsk(`page ${after}`, (signal) => get<Page>("/v1/topics", { after, limit: PAGE }, signal));
  const taken = useRef<Page | null>(null);
  useEffect(() => {
    if (page.value === null || taken.current === page.value) return;
    taken.current = page.value;
    const fresh = page.value.topics;
    setRows((old) => (after === "" ? fresh : [...old.filter((one) => one.name <= after), ...fresh]));
  }, [page.value]);
  if (page.problem !== null && rows.length === 0) return <div class="in"><Problem problem={page.problem} again={page.again} /></div>;
  if (page.value === null && rows.length === 0) return <div class="in"><Waiting lines={8} /></div>;
  const next = page.value?.next ?? null;
  return <Table label="Topics" columns={COLUMNS} rows={rows} id={(row) => row.name} onEnd={() => { if (next !== null) setAfter(next); }}
    empty={<Empty title="No topic is known yet.">Brokers announce theirs when they register.</Empty>} />;
}

function MissesList(): JSX.Element {
  const misses = useAsk("misses", (signal) => get<Misses>("/v1/misses", { limit: 200 }, signal), { everyMs: 10 * SECOND });
  if (misses.problem !== null) return <Problem problem={misses.problem} again={misses.again} />;
  if (misses.value === null) return <Waiting lines={6} />;
  const { topics, since_ms } = misses.value;
  return (
    <Panel title="Topics asked for in vain" flush aside={<>since <Time ms={since_ms} /></>}>
      {topics.length === 0 ? <Empty title="Every look-up found a route." /> : (
        <Scroll label="Topics asked for in vain"><table class="plain">
          <thead><tr><th>Topic</th><th>Now</th><th class="num">Misses</th><th class="num">Look-ups</th><th class="num">Clients</th></tr></thead>
          <tbody>{topics.map((one) => (
            <tr key={one.topic} data-key={one.topic}><td class="break"><a href={topicHref(one.topic)}>{one.topic}</a></td>
              <td>{one.exists ? <Badge tone="ok">has a route</Badge> : <Badge tone="bad">no route</Badge>}</td>
              <td class="num">{count(one.misses)}</td><td class="num">{count(one.lookups)}</td><td class="num">{count(one.clients)}</td></tr>
          ))}</tbody>
        </table></Scroll>
      )}
    </Panel>
  );
}
