/** Admin actions: each shows its effect first, then applies it and is recorded. */

import type { ComponentChildren, JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { get, logout, name as enc, send, session, type Setting } from "../api.ts";
import { useQuery } from "../query.ts";
import { identityChanged, state, useLive } from "../live.ts";
import { setQuery } from "../url.ts";
import { Badge, Choice, Command, Empty, Note, Panel, plural, Problem, ReadOnly, sentence, Time, Loading, Scroll } from "../ui/components.tsx";
import { Confirm, type Action } from "../ui/confirm.tsx";
import { Icon } from "../ui/icons.tsx";
import { LoginForm } from "../ui/login.tsx";

type Tab = "kv" | "settings" | "brokers" | "topics";
const TABS: { value: Tab; label: string }[] = [
  { value: "kv", label: "KV" }, { value: "settings", label: "Settings" }, { value: "brokers", label: "Write permission" }, { value: "topics", label: "Delete topic" },
];

export function AdminPage({ query }: { query: URLSearchParams }): JSX.Element {
  const found = useQuery("session", () => session());
  const [action, setAction] = useState<Action | null>(null);
  const current = found.value;
  const tab = TABS.find((one) => one.value === query.get("tab"))?.value ?? "kv";
  return (
    <>
      <div class="head"><h1>Admin</h1>
        {current?.who ? <div class="actions"><span class="muted">logged in as <strong>{current.who}</strong>{current.expires_at_ms === null ? "" : <> until <Time ms={current.expires_at_ms} /></>}</span>
          <button type="button" class="button" onClick={() => { logout().then(identityChanged, found.again); }}><Icon name="power" />Log out</button></div> : null}
      </div>
      {found.problem !== null && current === null ? <Problem problem={found.problem} again={found.again} />
        : current === null ? <Loading lines={5} />
        : !current.admin && tab === "settings" && (!current.authentication || current.access.includes("admin_read")) ? <SettingsPanel act={setAction} q={query.get("q") ?? ""} readOnly />
        : !current.authentication ? <><Off hint={current.hint} /><p><a href="/admin?tab=settings">Show all settings</a></p></>
        : current.who === null ? <div class="narrow-panel"><Panel title="Log in"><div class="stack"><p class="muted">Use an admin's access key. Changes are recorded under its name.</p><LoginForm onDone={found.again} /></div></Panel></div>
        : !current.admin ? <Note tone="warn"><strong>{current.who} is not an admin.</strong> {current.hint ?? "Log in as an admin to make changes."}</Note>
        : <>
            <div><Choice label="Action" value={tab} options={TABS} onPick={(value) => setQuery({ tab: value === "kv" ? null : value, q: null }, "push")} /></div>
            {tab === "kv" ? <KvPanel act={setAction} /> : tab === "settings" ? <SettingsPanel act={setAction} q={query.get("q") ?? ""} /> : tab === "brokers" ? <WritePanel act={setAction} /> : <TopicPanel act={setAction} />}
          </>}
      {action === null ? null : <Confirm action={action} onClose={() => setAction(null)} />}
    </>
  );
}

function secret(): string {
  return [...crypto.getRandomValues(new Uint8Array(24))].map((one) => one.toString(16).padStart(2, "0")).join("");
}

function Off({ hint }: { hint: string | null }): JSX.Element {
  const snippet = useMemo(() => `anonymous = ["route_read"]

[[identity]]
name = "ops"
secret = "${secret()}"
access = ["admin_write"]

[[identity]]
name = "brokers"
secret = "${secret()}"
access = ["broker_control"]
`, []);
  return (
    <Panel title="Admin actions are disabled">
      <div class="stack">
        <p>{sentence(hint ?? "authentication is off")} The command line and mqadmin work without it.</p>
        <p>1. Create <code>ids.toml</code>, readable by the server's user only (<code>chmod 600 ids.toml</code>). The secret below was generated in this page and is stored nowhere:</p>
        <Command text={snippet} />
        <p>2. Restart with it, then log in here as <code>ops</code>:</p>
        <Command text="routebook serve -D routebook.auth.file=ids.toml" />
        <p class="small muted">Clients continue to look up routes without keys (<code>anonymous</code>). Brokers need the keys of <code>brokers</code> before the restart.</p>
      </div>
    </Panel>
  );
}

type Act = (action: Action) => void;

function KvPanel({ act }: { act: Act }): JSX.Element {
  const kv = useQuery("kv", (signal) => get<{ namespaces: Record<string, Record<string, string | null>> }>("/v1/kv", {}, signal));
  const [entry, setEntry] = useState({ namespace: "ORDER_TOPIC_CONFIG", key: "", value: "" });
  const rows = Object.entries(kv.value?.namespaces ?? {}).flatMap(([namespace, table]) => Object.entries(table).map(([key, value]) => ({ namespace, key, value: value ?? "" })));
  const field = (key: keyof typeof entry, label: string): JSX.Element => (
    <label class="field grow"><span>{label}</span><input type="text" class="mono" required={key !== "value"} value={entry[key]} spellcheck={false} onInput={(event) => setEntry({ ...entry, [key]: event.currentTarget.value })} /></label>
  );
  return (
    <>
      <Panel title="Put an entry">
        <form class="row bottom" onSubmit={(event) => {
          event.preventDefault();
          act({ title: "Put the entry", run: (dry_run) => send("POST", "/v1/admin/kv", { ...entry, dry_run }), done: kv.again });
        }}>
          {field("namespace", "Namespace")}{field("key", "Key")}{field("value", "Value")}
          <button type="submit" class="button primary">Review…</button>
        </form>
      </Panel>
      <Panel title="KV configuration" flush aside={plural(rows.length, "entry", "entries")}>
        {kv.problem !== null ? <div class="in"><Problem problem={kv.problem} again={kv.again} /></div> : kv.value === null ? <div class="in"><Loading /></div> : rows.length === 0 ? <Empty title="No entries." /> : (
          <Scroll label="KV configuration"><table class="plain">
            <thead><tr><th>Namespace</th><th>Key</th><th>Value</th><th><span class="hidden">Actions</span></th></tr></thead>
            <tbody>{rows.map((row) => (
              <tr key={`${row.namespace}\n${row.key}`}><td class="break">{row.namespace}</td><td class="break">{row.key}</td><td class="break mono">{row.value}</td>
                <td><span class="row end nowrap"><button type="button" class="button quiet" aria-label={`Edit ${row.key}`} onClick={() => { setEntry(row); scrollTo({ top: 0 }); }}>Edit</button>
                  <button type="button" class="button quiet" aria-label={`Delete ${row.key}`} onClick={() => act({ title: "Delete the entry", danger: true, done: kv.again,
                    run: (dry) => send("DELETE", `/v1/admin/kv/${enc(row.namespace)}/${enc(row.key)}?dry_run=${String(dry)}`) })}><Icon name="trash" />Delete</button></span></td></tr>
            ))}</tbody>
          </table></Scroll>
        )}
      </Panel>
    </>
  );
}

function SettingsPanel({ act, q, readOnly = false }: { act: Act; q: string; readOnly?: boolean }): JSX.Element {
  const found = useQuery("settings", (signal) => get<{ settings: Setting[] }>("/v1/settings", {}, signal));
  const [edits, setEdits] = useState<Record<string, string>>({});
  if (found.problem !== null) return <Problem problem={found.problem} again={found.again} />;
  if (found.value === null) return <Loading lines={6} />;
  const wanted = found.value.settings.filter((one) => `${one.key} ${one.note}`.toLowerCase().includes(q.toLowerCase()));
  const changed = Object.fromEntries(found.value.settings.filter((one) => edits[one.key] !== undefined && edits[one.key] !== one.value).map((one) => [one.key, edits[one.key] ?? ""]));
  const many = Object.keys(changed).length;
  const again = (): void => { setEdits({}); found.again(); };
  return (
    <Panel title={readOnly ? "Settings" : "Run-time settings"} flush aside={<>
      <input type="search" placeholder="Filter" aria-label="Filter settings" value={q} onInput={(event) => setQuery({ q: event.currentTarget.value })} />
      {readOnly ? null : <button type="button" class="button primary" disabled={many === 0} onClick={() => act({ title: `Change ${plural(many, "setting")}`, done: again, run: (dry_run) => send("POST", "/v1/admin/settings", { values: changed, dry_run }) })}>Review {many > 0 ? plural(many, "change") : "changes"}…</button>}
    </>}>
      <Scroll label="Settings"><table class="plain settings">
        <thead><tr><th>Setting</th><th>Value</th><th>Default</th><th>What it does</th></tr></thead>
        <tbody>{[...wanted].sort((a, b) => Number(b.changes === "at run time") - Number(a.changes === "at run time")).map((one) => (
          <tr key={one.key}><td class="mono break">{one.key}{one.origin === null ? null : <div class="small muted">set by {one.origin}</div>}</td>
            <td>{readOnly || one.changes !== "at run time" ? <span class="break mono">{one.value}<span class="muted small"> ({one.changes})</span></span>
              : one.values === "true or false"
                ? <select aria-label={one.key} value={edits[one.key] ?? one.value} onChange={(event) => setEdits({ ...edits, [one.key]: event.currentTarget.value })}><option>true</option><option>false</option></select>
                : <input type="text" class="short mono" aria-label={one.key} value={edits[one.key] ?? one.value} onInput={(event) => setEdits({ ...edits, [one.key]: event.currentTarget.value })} />}
              {changed[one.key] === undefined ? null : <Badge tone="info">changed</Badge>}</td>
            <td class="break mono muted">{one.default}</td><td class="break">{one.note}</td></tr>
        ))}</tbody>
      </table></Scroll>
    </Panel>
  );
}

function WritePanel({ act }: { act: Act }): JSX.Element {
  useLive("brokers");
  const [q, setQ] = useState("");
  const names = [...new Map([...state.brokers.values()].filter((row) => row.state !== "down").map((row) => [row.name, row])).values()]
    .filter((row) => row.name.toLowerCase().includes(q.toLowerCase())).sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
  const button = (name: string, verb: "wipe" | "restore"): ComponentChildren => (
    <button type="button" class="button" onClick={() => act({ title: `${verb === "wipe" ? "Wipe" : "Restore"} write permission of ${name}`, danger: verb === "wipe", done: () => undefined,
      run: (dry_run) => send("POST", `/v1/admin/brokers/${enc(name)}/${verb}-write`, { dry_run }) })}>{verb === "wipe" ? "Wipe…" : "Restore…"}</button>
  );
  return (
    <Panel title="Write permission" flush aside={<input type="search" placeholder="Filter" aria-label="Filter brokers" value={q} onInput={(event) => setQ(event.currentTarget.value)} />}>
      <p class="in muted">Remove write permission so that producers move to other brokers before this one stops. It lasts until it is restored, or until the broker registers a newer topic configuration.</p>
      {names.length === 0 ? <Empty title="No brokers match." /> : <ul class="list tall">{names.map((row) => (
        <li key={row.name} data-key={row.name}><span class="grow clip">{row.name} {row.read_only ? <ReadOnly /> : null}</span><span class="muted small nowrap">{plural(row.topics, "topic")}</span><span class="row nowrap">{button(row.name, "wipe")}{button(row.name, "restore")}</span></li>
      ))}</ul>}
    </Panel>
  );
}

function TopicPanel({ act }: { act: Act }): JSX.Element {
  const [topic, setTopic] = useState("");
  const [cluster, setCluster] = useState("");
  return (
    <Panel title="Delete a topic">
      <form class="stack" onSubmit={(event) => {
        event.preventDefault();
        act({ title: `Delete ${topic}`, danger: true, done: () => undefined,
          run: (dry) => send("DELETE", `/v1/admin/topics/${enc(topic)}?${new URLSearchParams({ ...(cluster === "" ? {} : { cluster }), dry_run: String(dry) }).toString()}`) });
      }}>
        <p class="muted">Deletes the topic from this NameServer's routes. A broker that still has the topic adds it again with its next registration, so delete it there first.</p>
        <div class="row bottom">
          <label class="field grow"><span>Topic</span><input type="text" class="mono" required value={topic} spellcheck={false} onInput={(event) => setTopic(event.currentTarget.value)} /></label>
          <label class="field"><span>Only in this cluster</span><input type="text" value={cluster} onInput={(event) => setCluster(event.currentTarget.value.trim())} /></label>
          <button type="submit" class="button danger"><Icon name="trash" />Review…</button>
        </div>
      </form>
    </Panel>
  );
}
