/** A hook that queries the server: value or error, repeated on request and after a reconnect. */

import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError } from "./api.ts";
import { state, useLive } from "./live.ts";

export interface QueryResult<T> {
  value: T | null;
  problem: ApiError | null;
  busy: boolean;
  again: () => void;
}

/** `key` identifies the query; a new key runs it again, null runs nothing. The last value stays until the next arrives. */
export function useQuery<T>(key: string | null, query: (signal: AbortSignal) => Promise<T>, options: { everyMs?: number; keep?: boolean } = {}): QueryResult<T> {
  const [found, setFound] = useState<{ key: string | null; value: T | null; problem: ApiError | null }>({ key: null, value: null, problem: null });
  const [busy, setBusy] = useState(false);
  const [turn, setTurn] = useState(0);
  const latest = useRef(query);
  latest.current = query;
  useLive("link");
  const { returns } = state;

  useEffect(() => {
    if (key === null) return;
    const abort = new AbortController();
    setBusy(true);
    latest.current(abort.signal).then(
      (value) => { if (!abort.signal.aborted) { setFound({ key, value, problem: null }); setBusy(false); } },
      (problem: unknown) => {
        if (abort.signal.aborted) return;
        const refusal = problem instanceof ApiError ? problem : new ApiError(0, null, String(problem), null);
        setFound((old) => ({ key, value: old.key === key && refusal.status === 0 ? old.value : null, problem: refusal }));
        setBusy(false);
      },
    );
    return () => abort.abort();
  }, [key, turn, returns]);

  // The history index is built in the background after a start: ask again until it is there.
  const building = found.problem?.status === 503 && found.problem.message.includes("being built");
  useEffect(() => {
    if (!building) return;
    const timer = setTimeout(() => setTurn((count) => count + 1), 2000);
    return () => clearTimeout(timer);
  }, [building, found]);

  useEffect(() => {
    if (key === null || options.everyMs === undefined) return;
    const timer = setInterval(() => { if (!document.hidden) setTurn((count) => count + 1); }, options.everyMs);
    return () => clearInterval(timer);
  }, [key, options.everyMs]);

  const same = found.key === key || options.keep === true;
  return { value: same ? found.value : null, problem: same ? found.problem : null, busy, again: () => setTurn((count) => count + 1) };
}
