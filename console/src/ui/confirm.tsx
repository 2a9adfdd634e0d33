/** Admin actions in two steps: a dry run shows the changes, then they are applied. */

import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, type AdminAnswer } from "../api.ts";
import { count, Loading, Note, plural, Problem, Scroll, sentence } from "./components.tsx";
import { Icon } from "./icons.tsx";

export interface Action {
  title: string;
  danger?: boolean;
  run: (dry: boolean) => Promise<AdminAnswer>;
  done: () => void;
}

/** Dry run, preview, confirm, apply. */
export function Confirm({ action, onClose }: { action: Action; onClose: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [preview, setPreview] = useState<AdminAnswer | null>(null);
  const [done, setDone] = useState<AdminAnswer | null>(null);
  const [problem, setProblem] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  const failed = (what: unknown): void => { setBusy(false); setProblem(what instanceof ApiError ? what : new ApiError(0, null, String(what), null)); };
  useEffect(() => {
    dialog.current?.showModal();
    action.run(true).then(setPreview, failed);
  }, []);
  const apply = (): void => {
    setBusy(true);
    setProblem(null);
    action.run(false).then((answer) => { setBusy(false); setDone(answer); action.done(); }, failed);
  };
  const shown = done ?? preview;
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby="confirm-title" data-testid="confirm">
      <div class="dialog-in stack">
        <h2 id="confirm-title">{action.title}</h2>
        {problem === null ? null : <Problem problem={problem} />}
        {shown === null ? (problem === null ? <Loading /> : null) : <>
          {done === null
            ? <p>{shown.total === 0 ? "No changes." : `${plural(shown.total, "change")}:`}</p>
            : <Note tone={done.done ? "ok" : "warn"}>{done.done ? <>Applied and recorded{done.seq === null ? "" : <> as <a href={`/events?group=admin`}>record {done.seq}</a></>}.</> : "Nothing changed."}</Note>}
          <Changes answer={shown} />
          {shown.notes.map((note) => <Note key={note} tone="warn">{sentence(note)}</Note>)}
        </>}
        <div class="row end">
          <button type="button" class="button" onClick={() => dialog.current?.close()}>{done === null ? "Cancel" : "Close"}</button>
          {done === null ? <button type="button" class={`button ${action.danger ? "danger" : "primary"}`} disabled={preview === null || busy || preview.total === 0} onClick={apply} data-testid="do-it">{busy ? "Applying…" : action.title}</button> : null}
        </div>
      </div>
    </dialog>
  );
}

function Changes({ answer }: { answer: AdminAnswer }): JSX.Element | null {
  if (answer.changes.length === 0) return null;
  return (
    <Scroll label="Changes" class="changes"><table class="plain">
      <thead><tr><th>What</th><th>Before</th><th>After</th></tr></thead>
      <tbody>{answer.changes.map((one) => (
        <tr key={one.what}><td class="break what">{one.what}</td>
          <td class={valueClass(one.before)}>{one.before === null ? <span class="muted">none</span> : <><Icon name="minus" size={12} /> {one.before}</>}</td>
          <td class={valueClass(one.after)}>{one.after === null ? <span class="muted">none</span> : <><Icon name="plus" size={12} /> {one.after}</>}</td></tr>
      ))}</tbody>
    </table>{answer.total > answer.changes.length ? <p class="small muted in">and {count(answer.total - answer.changes.length)} more</p> : null}</Scroll>
  );
}

/** Short values do not wrap. */
function valueClass(value: string | null): string {
  return (value ?? "").length > 24 ? "break mono" : "nowrap";
}
