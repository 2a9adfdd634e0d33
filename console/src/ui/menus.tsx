/** Menus of the header: time zone, current user, and the switch to another NameServer. */

import type { ComponentChildren, JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { get, logout, session } from "../api.ts";
import { identityChanged, now, useLive } from "../live.ts";
import { useQuery } from "../query.ts";
import { zone, zoneName, type Zone } from "../time.ts";
import { Time } from "./components.tsx";
import { Icon, type IconName } from "./icons.tsx";

/** A button that opens a panel; Escape and a click elsewhere close it. */
function Menu({ label, icon, text, children, wideOnly = false }: { label: string; icon: IconName; text: ComponentChildren; children: ComponentChildren; wideOnly?: boolean }): JSX.Element {
  const box = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const close = (event: Event): void => {
      const element = box.current;
      if (element === null || !element.open) return;
      if (event instanceof KeyboardEvent ? event.key === "Escape" : !(event.target instanceof Node && element.contains(event.target))) {
        element.open = false;
        if (event instanceof KeyboardEvent) element.querySelector("summary")?.focus();
      }
    };
    document.addEventListener("keydown", close);
    document.addEventListener("click", close);
    return () => { document.removeEventListener("keydown", close); document.removeEventListener("click", close); };
  }, []);
  return (
    <details class={`menu ${wideOnly ? "wide-only" : ""}`} ref={box}>
      <summary class="button quiet" aria-label={label} title={label}><Icon name={icon} /><span class="menu-text clip">{text}</span></summary>
      <div class="menu-panel stack">{children}</div>
    </details>
  );
}

/** Shows the zone of all times, and switches between the viewer's zone and UTC. */
export function ZoneButton({ onPick }: { onPick: (zone: Zone) => void }): JSX.Element {
  const next: Zone = zone() === "utc" ? "local" : "utc";
  const name = zoneName(now());
  const other = next === "utc" ? "UTC" : "your time zone";
  return <button type="button" class="button quiet zone" data-testid="zone" aria-label={`Times are in ${name}. Change to ${other}`} title={`Times are in ${name}`} onClick={() => onPick(next)}><Icon name="clock" />{name}</button>;
}

const ALLOWED: Record<string, string> = {
  route_read: "read routes, brokers and topics", admin_read: "read KV, events and histories", admin_write: "change KV, settings, permissions and topics",
  broker_control: "register brokers",
};

/** Who is logged in, what they may do, and the way to log in or out. */
export function UserMenu(): JSX.Element | null {
  const { hello, returns } = useLive("link");
  const found = useQuery(`session ${hello?.boot ?? ""} ${returns}`, () => session(), { keep: true });
  const current = found.value;
  if (current === null) return null;
  const who = !current.authentication ? "everyone" : current.who ?? "not logged in";
  return (
    <Menu label={`User: ${who}`} icon="user" text={who}>
      <div>
        <strong>{!current.authentication ? "Authentication is off" : current.who === null ? "Not logged in" : current.who}</strong>
        {current.expires_at_ms === null ? null : <div class="small muted">until <Time ms={current.expires_at_ms} /></div>}
      </div>
      {!current.authentication ? <p class="small">Everyone who reaches this port can read. Changes from the console need a login: <a href="/admin">how to enable it</a>.</p>
        : <div class="small"><span class="muted">May:</span>
            {current.access.length === 0 ? <div>nothing without a login</div> : <ul>{current.access.map((one) => <li key={one}>{ALLOWED[one] ?? one.replaceAll("_", " ")}</li>)}</ul>}
            {current.limits.length === 0 ? null : <div class="muted">Changes only to: {current.limits.join(", ")}</div>}</div>}
      {!current.authentication ? null : current.who === null
        ? <button type="button" class="button primary" onClick={() => dispatchEvent(new Event("routebook-login"))}>Log in</button>
        : <button type="button" class="button" onClick={() => { logout().then(identityChanged, found.again); }}><Icon name="power" />Log out</button>}
    </Menu>
  );
}

/** The consoles of peer NameServers, at the same page. Peers without a known HTTP port have no console link. */
export function NameServerMenu(): JSX.Element | null {
  const { hello, overview } = useLive("link", "overview");
  const configured = overview?.peers !== null && overview?.peers !== undefined;
  const found = useQuery(configured ? "nameservers" : null, (signal) => get<{ peers: string[] }>("/v1/compare", {}, signal), { keep: true });
  if (hello === null || !configured) return null;
  return (
    <Menu label={`NameServer ${hello.listen}`} icon="brokers" text={hello.listen} wideOnly>
      <strong>NameServers</strong>
      <ul class="stack tight">
        <li><Icon name="check" /> <span class="mono">{hello.listen}</span> <span class="muted small">this one</span></li>
        {(found.value?.peers ?? []).map((peer) => {
          const [address = peer, port] = peer.split("/");
          const host = address.slice(0, address.lastIndexOf(":"));
          return <li key={peer}>{port === undefined ? <><span class="mono">{address}</span> <span class="muted small">no HTTP port configured</span></>
            : <a class="mono" href={`${location.protocol}//${host}:${port}${location.pathname}${location.search}`} target="_self">{address}</a>}</li>;
        })}
      </ul>
      <a href="/compare">Compare them</a>
    </Menu>
  );
}
