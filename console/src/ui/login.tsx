/** Log in with an access key and its secret. */

import type { JSX, TargetedSubmitEvent } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { login, ApiError, type LoginSession } from "../api.ts";
import { identityChanged } from "../live.ts";
import { Problem } from "./components.tsx";

export function LoginForm({ onDone }: { onDone: (session: LoginSession) => void }): JSX.Element {
  const [problem, setProblem] = useState<ApiError | null>(null);
  const [busy, setBusy] = useState(false);
  const submit = (event: TargetedSubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const given = new FormData(event.currentTarget);
    setBusy(true);
    login(String(given.get("access_key") ?? "").trim(), String(given.get("secret_key") ?? "")).then(
      (session) => { setBusy(false); identityChanged(); onDone(session); },
      (failed: unknown) => { setBusy(false); setProblem(failed instanceof ApiError ? failed : new ApiError(0, null, String(failed), null)); });
  };
  return (
    <form class="stack login" onSubmit={submit}>
      {problem === null ? null : <Problem problem={problem} />}
      <label class="field"><span>Access key</span><input type="text" name="access_key" required autocomplete="username" spellcheck={false} /></label>
      <label class="field"><span>Secret key</span><input type="password" name="secret_key" required autocomplete="current-password" /></label>
      <button type="submit" class="button primary" disabled={busy}>{busy ? "Logging in…" : "Log in"}</button>
    </form>
  );
}

export function LoginDialog({ onClose }: { onClose: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => { dialog.current?.showModal(); }, []);
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby="login-title">
      <div class="dialog-in stack"><h2 id="login-title">Log in to continue</h2><p class="muted">Use the access key and secret of an identity of this server.</p>
        <LoginForm onDone={onClose} />
      </div>
    </dialog>
  );
}
