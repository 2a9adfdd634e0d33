/** All brokers, live or at a past time. */

import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { get, type BrokerRow, type PastBrokers, type PastGroup } from "../api.ts";
import { useQuery } from "../query.ts";
import { filterBrokers, sortBrokers, type BrokerFilter } from "../filters.ts";
import { state, useLive } from "../live.ts";
import { fromUrl, shortAge } from "../time.ts";
import { brokerHref, setQuery } from "../url.ts";
import { HeartbeatAge, count, Empty, plural, Problem, ReadOnly, StateBadge, Time, TONE, CertaintyNote, Loading } from "../ui/components.tsx";
import { TimePicker, PastNote } from "../ui/time_picker.tsx";
import { CsvRows, sortRows, Table, type Column, type Sorting } from "../ui/table.tsx";
import { REASON } from "../labels.ts";

const COLUMNS: Column<BrokerRow>[] = [
  { key: "name", title: "Broker", width: "minmax(112px, 2fr)", sorts: true, phone: "main", csv: (row) => row.name, cell: (row) => <a href={brokerHref(row.name)}>{row.name}</a> },
  { key: "role", title: "Role", width: "66px", sorts: true, phone: "more", csv: (row) => row.role, cell: (row) => <span class={`tag ${row.role}`}>{row.role === "slave" ? `slave ${row.id}` : row.role}</span> },
  { key: "state", title: "State", width: "102px", sorts: true, phone: "side", csv: (row) => (row.read_only ? `${row.state}, read-only` : row.state), cell: (row) => row.read_only && row.state === "up" ? <ReadOnly /> : <StateBadge state={row.state} /> }, // the badge means up
  { key: "beat", title: "Heartbeat", width: "92px", sorts: true, phone: "more", csv: (row) => row.state === "down" ? row.reason : new Date(row.last_seen_ms).toISOString(), cell: (row) => row.state === "down"
    ? <span class="muted" title={REASON[row.reason ?? ""] ?? ""}>{row.reason ?? "–"}</span>
    : <HeartbeatAge seen={row.last_seen_ms} timeout={row.timeout_ms} state={row.state} /> },
  { key: "addr", title: "Address", width: "minmax(152px, 1.2fr)", sorts: true, phone: "more", csv: (row) => row.addr, cell: (row) => <span class="mono">{row.addr}</span> },
  { key: "cluster", title: "Cluster", width: "minmax(72px, 1fr)", sorts: true, phone: "no", roomy: true, csv: (row) => row.cluster, cell: (row) => row.cluster },
  { key: "zone", title: "Zone", width: "minmax(46px, 0.7fr)", sorts: true, phone: "more", csv: (row) => row.zone, cell: (row) => row.zone ?? <span class="muted">–</span> },
  { key: "version", title: "Version", width: "54px", sorts: true, phone: "no", roomy: true, csv: (row) => row.version, cell: (row) => row.version ?? <span class="muted">–</span> },
  { key: "topics", title: "Topics", width: "50px", sorts: true, right: true, phone: "no", csv: (row) => row.topics, cell: (row) => <span class="num">{count(row.topics)}</span> },
  { key: "since", title: "Since", width: "114px", sorts: true, right: true, phone: "no", roomy: true, csv: (row) => row.since_ms === null ? null : new Date(row.since_ms).toISOString(), cell: (row) => <Time ms={row.state === "down" ? row.down_at_ms : row.since_ms} /> },
];

const PAST: Column<PastGroup>[] = [
  { key: "name", title: "Broker group", width: "minmax(140px, 2fr)", sorts: true, phone: "main", csv: (row) => row.name, cell: (row) => <a href={brokerHref(row.name)}>{row.name}</a> },
  { key: "members", title: "Members", width: "minmax(200px, 3fr)", sorts: true, phone: "more", csv: (row) => Object.entries(row.addrs).map(([id, addr]) => `${id}=${addr}`).join(" "), cell: (row) => (
    <span class="mono">{Object.entries(row.addrs).map(([id, addr]) => `${id === "0" ? "master" : `slave ${id}`} ${addr}`).join("  ·  ")}</span>) },
  { key: "cluster", title: "Cluster", width: "minmax(90px, 1fr)", sorts: true, phone: "side", csv: (row) => row.cluster, cell: (row) => row.cluster },
  { key: "zone", title: "Zone", width: "minmax(60px, 0.7fr)", sorts: true, phone: "no", csv: (row) => row.zone, cell: (row) => row.zone ?? <span class="muted">–</span> },
  { key: "since", title: "Since", width: "150px", sorts: true, right: true, phone: "no", csv: (row) => row.since_ms === null ? null : new Date(row.since_ms).toISOString(), cell: (row) => <Time ms={row.since_ms} /> },
];

const tone = (row: BrokerRow): string => (row.state === "up" ? "" : TONE[row.state]);

export function BrokersPage({ query }: { query: URLSearchParams }): JSX.Element {
  const at = fromUrl(query.get("at"));
  return (
    <>
      <div class="head"><h1>Brokers</h1><div class="actions"><TimePicker at={at} onPick={(ms) => setQuery({ at: ms === null ? null : String(ms) }, "push")} /></div></div>
      {at === null ? <LiveBrokers query={query} /> : <PastBrokersView at={at} query={query} />}
    </>
  );
}

function LiveBrokers({ query }: { query: URLSearchParams }): JSX.Element {
  useLive("brokers");
  const { brokers, overview } = state;
  const filter: BrokerFilter = {
    q: query.get("q") ?? "", state: query.get("state") ?? "", cluster: query.get("cluster") ?? "", zone: query.get("zone") ?? "", role: query.get("role") ?? "",
  };
  const sorting: Sorting = { by: query.get("sort") ?? "name", down: query.get("down") === "1" };
  const all = [...brokers.values()];
  const rows = sortBrokers(filterBrokers(all, filter), sorting.by, sorting.down);
  const values = (pick: (row: BrokerRow) => string | null): string[] => [...new Set(all.map(pick).filter((one): one is string => one !== null && one !== ""))].sort();
  const clusters = useMemo(() => values((row) => row.cluster), [all.length]);
  const zones = useMemo(() => values((row) => row.zone), [all.length]);
  const filtered = rows.length !== all.length;
  return (
    <>
      <div class="filters" role="search">
        <input type="search" placeholder="Name, address, zone" aria-label="Filter brokers" value={filter.q} onInput={(event) => setQuery({ q: event.currentTarget.value })} />
        <Pick label="State" value={filter.state} options={["up", "suspected", "recovered", "down"]} onPick={(value) => setQuery({ state: value })} />
        <Pick label="Role" value={filter.role} options={["master", "slave", "acting", "headless"]} words={{ headless: "no master in group" }} onPick={(value) => setQuery({ role: value })} />
        {clusters.length > 1 ? <Pick label="Cluster" value={filter.cluster} options={clusters} onPick={(value) => setQuery({ cluster: value })} /> : null}
        {zones.length > 1 ? <Pick label="Zone" value={filter.zone} options={zones} onPick={(value) => setQuery({ zone: value })} /> : null}
        <span class="phone-only"><Pick label="Sort" none="Sort: name" value={sorting.by === "name" ? "" : sorting.by} options={["state", "beat", "role", "zone", "topics", "since"]} words={{ beat: "heartbeat" }} onPick={(value) => setQuery({ sort: value, down: null })} /></span>
        <span class="muted small" role="status">{filtered ? `${count(rows.length)} of ${plural(all.length, "broker")}` : plural(all.length, "broker")}</span>
        <CsvRows file="brokers" columns={COLUMNS} rows={rows} />
        {filtered ? <button type="button" class="button quiet" onClick={() => setQuery({ q: null, state: null, cluster: null, zone: null, role: null })}>Clear</button> : null}
      </div>
      <div class="panel">
        {overview === null ? <div class="in"><Loading lines={8} /></div>
          : <Table label="Brokers" columns={COLUMNS} rows={rows} id={(row) => row.key} tone={tone} sorting={sorting}
              onSort={(next) => setQuery({ sort: next.by === "name" ? null : next.by, down: next.down ? "1" : null })}
              empty={<Empty title={all.length === 0 ? "No broker has registered." : "No brokers match."}>{all.length === 0 ? <>Start one with namesrvAddr set to this NameServer, or try <code>routebook fleet run</code>.</> : "Clear the filters to see all brokers."}</Empty>} />}
      </div>
    </>
  );
}

export function Pick({ label, value, options, words = {}, none = `${label}: any`, onPick }: {
  label: string; none?: string; value: string; options: readonly string[]; words?: Record<string, string>; onPick: (value: string) => void;
}): JSX.Element {
  return (
    <select aria-label={label} value={value} onChange={(event) => onPick(event.currentTarget.value)}>
      <option value="">{none}</option>
      {(value !== "" && !options.includes(value) ? [...options, value] : options).map((one) => <option key={one} value={one}>{words[one] ?? one}</option>)}
    </select>
  );
}

function PastBrokersView({ at, query }: { at: number; query: URLSearchParams }): JSX.Element {
  const past = useQuery(`brokers ${at}`, (signal) => get<PastBrokers>("/v1/brokers", { at }, signal));
  const q = (query.get("q") ?? "").toLowerCase();
  const rows = (past.value?.groups ?? []).filter((row) => q === "" || row.name.toLowerCase().includes(q) || Object.values(row.addrs).some((addr) => addr.includes(q)));
  const sorting: Sorting = { by: query.get("sort") ?? "name", down: query.get("down") === "1" };
  const sorted = sortRows(rows, PAST, sorting);
  return (
    <>
      <PastNote at={at} />
      <CertaintyNote certainty={past.value?.certainty} />
      <div class="filters" role="search">
        <input type="search" placeholder="Name or address" aria-label="Filter brokers" value={query.get("q") ?? ""} onInput={(event) => setQuery({ q: event.currentTarget.value })} />
        <span class="muted small" role="status">{plural(rows.length, "group")}</span>
        <a href={`/events?at=${at}`}>events at that time</a>
        <CsvRows file="brokers-then" columns={PAST} rows={sorted} />
      </div>
      <div class="panel">
        {past.problem !== null ? <div class="in"><Problem problem={past.problem} again={past.again} /></div>
          : past.value === null ? <div class="in"><Loading lines={8} /></div>
          : <Table label={`Brokers ${shortAge(Date.now() - at)} ago`} columns={PAST} rows={sorted} id={(row) => row.name} sorting={sorting} onSort={(next) => setQuery({ sort: next.by === "name" ? null : next.by, down: next.down ? "1" : null })} empty={<Empty title="No brokers at that time." />} />}
      </div>
    </>
  );
}
