/** Dark, light, or as the system says. */

import { useState } from "preact/hooks";

export type Theme = "auto" | "light" | "dark";
const KEY = "routebook-theme";

export function applyTheme(): Theme {
  let kept: string | null = null;
  try {
    kept = localStorage.getItem(KEY);
  } catch {
    // a browser that keeps nothing shows what the system says
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
      // it holds until the page is left
    }
    show(next);
    setTheme(next);
  }];
}
