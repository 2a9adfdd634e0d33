/** Page state in the URL: pages can be shared, reloaded and reached with the back button. */

import { useEffect, useState } from "preact/hooks";

type Listener = () => void;
const listeners = new Set<Listener>();

function notify(): void {
  for (const listener of [...listeners]) listener();
}

addEventListener("popstate", notify);

/** Open a page of the console and scroll to its top. */
export function go(href: string): void {
  if (href === location.pathname + location.search) return;
  history.pushState(null, "", href);
  scrollTo(0, 0);
  notify();
}

/** Change parts of the query; null removes one. Typing and dragging replace the history entry, choices add one. */
export function setQuery(changes: Record<string, string | null>, how: "push" | "replace" = "replace"): void {
  const query = new URLSearchParams(location.search);
  for (const [key, value] of Object.entries(changes)) {
    if (value === null || value === "") query.delete(key);
    else query.set(key, value);
  }
  const text = query.toString();
  const href = location.pathname + (text === "" ? "" : `?${text}`);
  if (href === location.pathname + location.search) return;
  if (how === "push") history.pushState(null, "", href);
  else history.replaceState(null, "", href);
  notify();
}

export interface Place {
  page: string;
  name: string | null;
  query: URLSearchParams;
}

/** `/brokers/b-1?x=y` is page `brokers`, name `b-1`. A name that is not valid percent-encoded UTF-8 stays as it is. */
export function parsePlace(pathname: string, search: string): Place {
  const [, page = "", ...rest] = pathname.split("/");
  let name: string | null = rest.length === 0 ? null : rest.join("/");
  if (name !== null) {
    try {
      name = decodeURIComponent(name);
    } catch {
      // shown as it stands in the address bar
    }
  }
  return { page: page === "" ? "overview" : page, name: name === "" ? null : name, query: new URLSearchParams(search) };
}

export function usePlace(): Place {
  const [, again] = useState(0);
  useEffect(() => {
    const listener = (): void => again((count) => count + 1);
    listeners.add(listener);
    return () => { listeners.delete(listener); };
  }, []);
  return parsePlace(location.pathname, location.search);
}

export function brokerHref(name: string, query: Record<string, string> = {}): string {
  return withQuery(`/brokers/${encodeURIComponent(name)}`, query);
}

export function topicHref(name: string, query: Record<string, string> = {}): string {
  return withQuery(`/topics/${encodeURIComponent(name)}`, query);
}

export function withQuery(path: string, query: Record<string, string>): string {
  const text = new URLSearchParams(query).toString();
  return text === "" ? path : `${path}?${text}`;
}

/** Follow links of the console without reloading it; clicks with modifier keys keep the browser's behaviour. */
export function followLinks(): void {
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    const href = link?.getAttribute("href");
    if (link === null || !href?.startsWith("/") || href.startsWith("/v1/") || href.startsWith("/schema") || link.hasAttribute("target")) return;
    event.preventDefault();
    go(href);
  });
}
