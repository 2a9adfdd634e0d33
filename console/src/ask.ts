/** Ask the server from within a page: the answer, or what is wrong; asked again when told to or when the link returns. */

import { useEffect, useRef, useState } from "preact/hooks";
import { Refusal } from "./api.ts";
import { state, useLive } from "./live.ts";

export interface Asked<T> {
  value: T | null;
  problem: Refusal | null;
  busy: boolean;
  again: () => void;
}

/** `key` says what is asked; another key asks anew, and null asks nothing. The last answer stays until the next is there. */
export function useAsk<T>(key: string | null, question: (signal: AbortSignal) => Promise<T>, options: { everyMs?: number; keep?: boolean } = {}): Asked<T> {
  const [found, setFound] = useState<{ key: string | null; value: T | null; problem: Refusal | null }>({ key: null, value: null, problem: null });
  const [busy, setBusy] = useState(false);
  const [turn, setTurn] = useState(0);
  const latest = useRef(question);
  latest.current = question;
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
        const refusal = problem instanceof Refusal ? problem : new Refusal(0, null, String(problem), null);
        setFound((old) => ({ key, value: old.key === key && refusal.status === 0 ? old.value : null, problem: refusal }));
        setBusy(false);
      },
    );
    return () => abort.abort();
  }, [key, turn, returns]);

  useEffect(() => {
    if (key === null || options.everyMs === undefined) return;
    const timer = setInterval(() => { if (!document.hidden) setTurn((count) => count + 1); }, options.everyMs);
    return () => clearInterval(timer);
  }, [key, options.everyMs]);

  const same = found.key === key || options.keep === true;
  return { value: same ? found.value : null, problem: same ? found.problem : null, busy, again: () => setTurn((count) => count + 1) };
}
