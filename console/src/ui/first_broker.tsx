/** What to do while no broker has registered: how to connect one, or a simulated fleet, and when reports have data. */

import type { JSX } from "preact";
import { useLive } from "../live.ts";
import { Command, Panel } from "./components.tsx";

const ANY = new Set(["0.0.0.0", "[::]", "::"]);
const LOCAL = /^(127\.|localhost$|\[?::1\]?$)/;

export function FirstBroker(): JSX.Element | null {
  const { hello } = useLive("link");
  if (hello === null) return null;
  const end = hello.listen.lastIndexOf(":");
  const host = hello.listen.slice(0, end);
  const port = hello.listen.slice(end + 1);
  const here = ANY.has(host) ? `127.0.0.1:${port}` : hello.listen;
  const there = LOCAL.test(host) ? null : ANY.has(host) ? `${location.hostname}:${port}` : hello.listen;
  return (
    <Panel title="Connect a broker">
      <div class="stack">
        <div>
          <p>On this machine:</p>
          <Command text={`mqbroker -n ${here}`} />
        </div>
        {there !== null
          ? <div><p>On another machine:</p><Command text={`mqbroker -n ${there}`} /></div>
          : <div>
              <p>On another machine: this NameServer accepts local connections only. Start it with a public address, then use the host's name.</p>
              <Command text={`routebook up --listen 0.0.0.0:${port}`} />
            </div>}
        <div>
          <p>No broker at hand? A simulated fleet registers with this NameServer until you stop it:</p>
          <Command text={`routebook fleet run --scenario demo -n ${here}`} />
        </div>
        <p class="muted">Reports have their first figures about a minute after the first broker has registered, if the lake is running (<code>routebook up</code>). The Reports page shows its progress.</p>
      </div>
    </Panel>
  );
}
