/** CSV downloads, and the values by which table cells sort. */

export function csvOf(lines: readonly (readonly string[])[]): string {
  return lines.map((line) => line.map(quoted).join(",")).join("\r\n") + "\r\n";
}

/** A cell that begins like a formula gets an apostrophe, because spreadsheets would evaluate it. */
function quoted(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) && !/^-?[\d.]+$/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function download(name: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" }));
  link.download = `routebook-${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-")}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const UNITS: Record<string, number> = { ms: 1, s: 1000, min: 60_000, h: 3_600_000, d: 86_400_000 };

/** A time sorts by its moment, a number or duration by its size, everything else by its text. */
export function sortValue(cell: Element | undefined, numeric = true): number | string {
  const time = cell?.querySelector("time")?.dateTime;
  const text = (cell?.textContent ?? "").trim();
  if (time !== undefined && cell?.querySelectorAll("time").length === 1 && text === (cell.querySelector("time")?.textContent ?? "").trim()) return numeric ? Date.parse(time) : time;
  return numeric ? textValue(text) : text;
}

export function textValue(text: string): number | string {
  const plain = text.replaceAll("\u202f", "").replace(/ %.*$/, "");
  if (/^[-−]?\d+(\.\d+)?$/.test(plain)) return Number(plain.replace("−", "-"));
  const parts = /^((\d+(?:\.\d+)?) ?(ms|s|min|h|d)( |$))+$/.test(text) ? [...text.matchAll(/(\d+(?:\.\d+)?) ?(ms|s|min|h|d)/g)] : [];
  if (parts.length > 0) return parts.reduce((sum, [, value, unit]) => sum + Number(value) * (UNITS[unit ?? ""] ?? 0), 0);
  const leading = /^(\d+(?:\.\d+)?)(?=\s|$)/.exec(plain);
  return leading !== null ? Number(leading[1]) : text === "–" ? -1 : text.toLowerCase();
}
