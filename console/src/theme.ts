/** Dark, light, or the system's theme. */

import { useState } from "preact/hooks";

export type Theme = "auto" | "light" | "dark";
const KEY = "routebook-theme";

export function applyTheme(): Theme {
  let kept: string | null = null;
  try {
    kept = localStorage.getItem(KEY);
  } catch {
    // without storage: the system's theme
  }
  const theme: Theme = kept === "light" || kept === "dark" ? kept : "auto";
  show(theme);
  return theme;
}

function show(theme: Theme): void {
  if (theme === "auto") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
}

export function useTheme(): [Theme, (theme: Theme) => void] {
  const [theme, setTheme] = useState(applyTheme);
  return [theme, (next) => {
    try {
      localStorage.setItem(KEY, next);
    } catch {
      // without storage: until the page is closed
    }
    show(next);
    setTheme(next);
  }];
}
