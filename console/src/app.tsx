/** Layout of every page: navigation, connection state, notices. */

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import mark from "./mark.svg";
import { reconnect, useLive, useNow } from "./live.ts";
import { AdminPage } from "./pages/admin.tsx";
import { BrokerPage } from "./pages/broker.tsx";
import { BrokersPage } from "./pages/brokers.tsx";
import { ComparePage } from "./pages/compare.tsx";
import { ControllerPage } from "./pages/controller.tsx";
import { EventsPage } from "./pages/events.tsx";
import { OverviewPage } from "./pages/overview.tsx";
import { ReportsPage } from "./pages/reports.tsx";
import { TopicPage } from "./pages/topic.tsx";
import { TopicsPage } from "./pages/topics.tsx";
import { duration, setZone, zone } from "./time.ts";
import { useTheme, type Theme } from "./theme.ts";
import { usePlace, type Place } from "./url.ts";
import { LoginDialog } from "./ui/login.tsx";
import { Empty, Note } from "./ui/components.tsx";
import { Icon, Sign, type IconName, type Tone } from "./ui/icons.tsx";
import { NameServerMenu, UserMenu, ZoneButton } from "./ui/menus.tsx";
import { Palette } from "./ui/palette.tsx";

const NAV: { page: IconName & string; href: string; title: string }[] = [
  { page: "overview", href: "/", title: "Overview" },
  { page: "brokers", href: "/brokers", title: "Brokers" },
  { page: "topics", href: "/topics", title: "Topics" },
  { page: "controller", href: "/controller", title: "Controller" },
  { page: "compare", href: "/compare", title: "Compare" },
  { page: "events", href: "/events", title: "Events" },
  { page: "reports", href: "/reports", title: "Reports" },
  { page: "admin", href: "/admin", title: "Admin" },
];

function pageOf(place: Place): [string, string, () => JSX.Element] {
  const { page, name } = place;
  if (page === "brokers" && name !== null) return ["broker", name, () => <BrokerPage key={name} name={name} query={place.query} />];
  if (page === "topics" && name !== null) return ["topic", name, () => <TopicPage key={name} name={name} query={place.query} />];
  switch (name === null ? page : "") {
    case "overview": return ["overview", "Overview", () => <OverviewPage query={place.query} />];
    case "brokers": return ["brokers", "Brokers", () => <BrokersPage query={place.query} />];
    case "topics": return ["topics", "Topics", () => <TopicsPage query={place.query} />];
    case "controller": return ["controller", "Controller", () => <ControllerPage query={place.query} />];
    case "compare": return ["compare", "Compare", () => <ComparePage query={place.query} />];
    case "events": return ["events", "Events", () => <EventsPage query={place.query} />];
    case "reports": return ["reports", "Reports", () => <ReportsPage query={place.query} />];
    case "admin": return ["admin", "Admin", () => <AdminPage query={place.query} />];
    default: return ["unknown", "Page not found", () => <NotFound />];
  }
}

export function App(): JSX.Element {
  const place = usePlace();
  const [palette, setPalette] = useState(false);
  const [login, setLogin] = useState(false);
  const [shown, setShown] = useState(zone());
  const main = useRef<HTMLElement>(null);
  const [page, title, content] = pageOf(place);

  useEffect(() => {
    const key = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        setPalette((open) => !open);
      }
    };
    const ask = (): void => setLogin(true);
    addEventListener("keydown", key);
    addEventListener("routebook-login", ask);
    return () => { removeEventListener("keydown", key); removeEventListener("routebook-login", ask); };
  }, []);

  const first = useRef(true);
  useEffect(() => {
    document.title = page === "overview" ? "Routebook" : `${title} · Routebook`;
    if (first.current) first.current = false;
    else main.current?.focus({ preventScroll: true });
  }, [page, title]);

  const section = page === "broker" ? "brokers" : page === "topic" ? "topics" : page;
  return (
    <div class="shell">
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); main.current?.focus(); }}>Skip to content</a>
      <aside class="side" aria-label="Routebook">
        <div class="side-in">
          <a class="brand" href="/"><img src={mark} alt="" width="24" height="24" />Routebook</a>
          <nav class="nav" aria-label="Pages">
            <ul>{NAV.map((one) => (
              <li key={one.page}><a href={one.href} {...(one.page === section ? { "aria-current": "page" as const } : {})}><Icon name={one.page} />{one.title}</a></li>
            ))}</ul>
          </nav>
          <Foot />
        </div>
      </aside>
      <header class="bar">
        <a class="brand" href="/" aria-label="Routebook: overview"><img src={mark} alt="" width="24" height="24" /></a>
        <button type="button" class="button jump" onClick={() => setPalette(true)}><Icon name="search" />Go to… <kbd>Ctrl K</kbd></button>
        <div class="bar-end"><LinkChip /><NameServerMenu /><ZoneButton onPick={(next) => { setZone(next); setShown(next); }} /><UserMenu /><ThemeButton /></div>
      </header>
      <main id="main" key={shown} data-page={page} tabIndex={-1} ref={main}>
        <Notices />
        {content()}
      </main>
      {palette ? <Palette onClose={() => setPalette(false)} /> : null}
      {login && page !== "admin" ? <LoginDialog onClose={() => setLogin(false)} /> : null}
    </div>
  );
}

function NotFound(): JSX.Element {
  return (
    <>
      <div class="head"><h1>Page not found</h1></div>
      <div class="panel"><Empty title={`This console has no page ${location.pathname}.`}>
        <div class="row top-gap center"><a class="button primary" href="/">Overview</a><a class="button" href="/brokers">Brokers</a><a class="button" href="/topics">Topics</a><a class="button" href="/schema">HTTP API</a></div>
      </Empty></div>
    </>
  );
}

function LinkChip(): JSX.Element {
  const { link, overview, why, restartedAt } = useLive("link", "overview");
  const words: Record<typeof link, [Tone, string]> = {
    connecting: ["none", "connecting…"], live: ["ok", "live"], reconnecting: ["warn", "reconnecting…"], restarting: ["warn", "server restarting…"], refused: ["bad", "not allowed"],
  };
  const [tone, word] = link === "refused" && why.startsWith("log in") ? ["bad" as const, "not logged in"] : words[link];
  const condition = overview?.condition ?? "ok";
  return (
    <>
      {link === "live" && condition !== "ok"
        ? <a class={`badge ${condition === "failed" ? "bad" : "warn"}`} href="/"><Sign tone={condition === "failed" ? "bad" : "warn"} />{condition}</a> : null}
      <span class={`badge ${tone}`} role="status" data-live={link === "live" && restartedAt !== null ? "restarted" : link} title={why}><Sign tone={tone} />{word}</span>
    </>
  );
}

function Notices(): JSX.Element | null {
  const { link, since, restartedAt } = useLive("link", "clock");
  const lost = link === "reconnecting" || link === "restarting" || (link === "connecting" && Date.now() - since > 3000);
  if (lost) {
    return (
      <Note tone="warn">
        <div class="row">
          <span class="grow"><strong>{link === "restarting" ? "The server is restarting." : "Reconnecting…"}</strong>{" "}
            No connection for {duration(Date.now() - since)}. The page may be out of date until the connection returns.</span>
          <button type="button" class="button" onClick={reconnect}>Reconnect now</button>
        </div>
      </Note>
    );
  }
  if (restartedAt !== null) return <Note tone="info"><span role="status"><strong>The server restarted.</strong> This page is up to date again.</span></Note>;
  return null;
}

function Foot(): JSX.Element {
  const { hello } = useLive("link");
  if (hello === null) return <div class="side-foot">not connected</div>;
  return (
    <div class="side-foot">
      <span class="clip" title={hello.ns}>{hello.ns}</span>
      <span class="clip mono">{hello.listen}</span>
      <span>version {hello.version}</span>
      <Uptime since={hello.started_at_ms} />
    </div>
  );
}

function Uptime({ since }: { since: number }): JSX.Element {
  return <span>up {duration(useNow() - since)}</span>;
}

function ThemeButton(): JSX.Element {
  const [theme, setTheme] = useTheme();
  const next: Record<Theme, Theme> = { auto: "light", light: "dark", dark: "auto" };
  const icon: Record<Theme, IconName> = { auto: "auto", light: "sun", dark: "moon" };
  const word: Record<Theme, string> = { auto: "system", light: "light", dark: "dark" };
  return (
    <button type="button" class="button quiet icon-button" onClick={() => setTheme(next[theme])} data-testid="theme"
      aria-label={`Theme: ${word[theme]}. Change to ${word[next[theme]]}`} title={`Theme: ${word[theme]}`}>
      <Icon name={icon[theme]} />
    </button>
  );
}

