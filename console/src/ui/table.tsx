/** A virtual table: only rows in view are rendered; all rows have the same height. */

import { Component, type ComponentChildren, type JSX } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { csvOf, download } from "../csv.ts";
import { names } from "../filters.ts";
import { useCramped, useNarrow } from "./components.tsx";
import { Icon } from "./icons.tsx";

export interface Column<T> {
  key: string;
  title: string;
  width: string; // a grid track
  cell: (row: T) => ComponentChildren;
  /** The value in a CSV download; columns without it are left out. */
  csv?: (row: T) => string | number | null;
  sorts?: boolean;
  right?: boolean;
  /** At phone width a row has two lines: main and side on the first, all `more` on the second. */
  phone: "main" | "side" | "more" | "no";
  /** Hidden in narrow windows. */
  roomy?: true;
}

export interface Sorting {
  by: string;
  down: boolean;
}

interface RowProps<T> {
  row: T;
  index: number;
  narrow: boolean;
  columns: readonly Column<T>[];
  id: string;
  tone: string;
}

/** Rendered again only when its row object changes; cells with a clock update themselves. */
class Row<T> extends Component<RowProps<T>> {
  override shouldComponentUpdate(next: RowProps<T>): boolean {
    const was = this.props;
    return next.row !== was.row || next.index !== was.index || next.narrow !== was.narrow || next.columns !== was.columns;
  }

  override render({ row, index, narrow, columns, id, tone }: RowProps<T>): JSX.Element {
    if (narrow) {
      const of = (where: string): Column<T>[] => columns.filter((one) => one.phone === where);
      return (
        <div role="row" class={`tr narrow ${tone}`} aria-rowindex={index + 2} data-key={id}>
          {of("main").map((one) => <div role="cell" class="main clip" key={one.key}>{one.cell(row)}</div>)}
          {of("side").map((one) => <div role="cell" class="side-cell" key={one.key}>{one.cell(row)}</div>)}
          <div class="second clip" role="presentation">
            {of("more").map((one) => <span role="cell" key={one.key}>{one.cell(row)}</span>)}
          </div>
        </div>
      );
    }
    return (
      <div role="row" class={`tr ${tone}`} aria-rowindex={index + 2} data-key={id}>
        {columns.map((one) => <div role="cell" key={one.key} class={one.right ? "right clip" : "clip"}>{one.cell(row)}</div>)}
      </div>
    );
  }
}

/** Sorts rows by the CSV value of a column; equal rows keep their order. */
export function sortRows<T>(rows: readonly T[], columns: readonly Column<T>[], sorting: Sorting): T[] {
  const value = columns.find((one) => one.key === sorting.by)?.csv;
  if (value === undefined) return [...rows];
  const sign = sorting.down ? -1 : 1;
  return [...rows].sort((a, b) => {
    const [x, y] = [value(a) ?? "", value(b) ?? ""];
    return sign * (typeof x === "number" && typeof y === "number" ? x - y : names.compare(String(x), String(y)));
  });
}

/** Downloads rows as CSV, with the columns that have a value for it. */
export function CsvRows<T>({ file, columns, rows }: { file: string; columns: readonly Column<T>[]; rows: readonly T[] }): JSX.Element {
  return (
    <button type="button" class="button quiet" aria-label={`Download ${file} as CSV`} disabled={rows.length === 0} onClick={() => {
      const used = columns.filter((one) => one.csv !== undefined);
      download(file, csvOf([used.map((one) => one.title), ...rows.map((row) => used.map((one) => String(one.csv?.(row) ?? "")))]));
    }}><Icon name="download" />CSV</button>
  );
}

export function Table<T>({ label, columns: all, rows, id, sorting, onSort, tone, empty, onEnd }: {
  label: string;
  columns: readonly Column<T>[];
  rows: readonly T[];
  id: (row: T) => string;
  sorting?: Sorting;
  onSort?: (sorting: Sorting) => void;
  tone?: (row: T) => string;
  empty: ComponentChildren;
  onEnd?: () => void; // the last rows are in view
}): JSX.Element {
  const narrow = useNarrow();
  const cramped = useCramped();
  const columns = useMemo(() => (cramped ? all.filter((one) => one.roomy !== true) : all), [cramped, all]);
  const height = narrow ? 56 : 34;
  const body = useRef<HTMLDivElement>(null);
  const [[from, to], setRange] = useState<[number, number]>([0, Math.ceil(innerHeight / height) + 10]);
  const end = useRef(onEnd);
  end.current = onEnd;

  useLayoutEffect(() => {
    let frame = 0;
    const update = (): void => {
      frame = 0;
      const top = body.current?.getBoundingClientRect().top ?? 0;
      const first = Math.max(0, Math.floor(-top / height) - 8);
      const last = Math.min(rows.length, Math.ceil((innerHeight - top) / height) + 8);
      setRange((old) => (old[0] === first && old[1] === last ? old : [first, last]));
      if (last >= rows.length - 4 && rows.length > 0) end.current?.();
    };
    const schedule = (): void => { if (frame === 0) frame = requestAnimationFrame(update); };
    update();
    addEventListener("scroll", schedule, { passive: true });
    addEventListener("resize", schedule);
    return () => { cancelAnimationFrame(frame); removeEventListener("scroll", schedule); removeEventListener("resize", schedule); };
  }, [rows.length, height]);

  const tracks = columns.map((one) => one.width).join(" ");
  const shown = rows.slice(from, to);
  return (
    <div class={`table ${narrow ? "is-narrow" : ""}`} role="table" aria-label={label} aria-rowcount={rows.length + 1}>
      <div role="rowgroup" class="thead" style={{ "--tracks": tracks }}>
        <div role="row" class="tr" aria-rowindex={1}>
          {columns.map((one) => {
            const active = sorting?.by === one.key;
            return (
              <div role="columnheader" key={one.key} class={one.right ? "right" : ""}
                {...(active ? { "aria-sort": sorting.down ? "descending" as const : "ascending" as const } : {})}>
                {one.sorts && onSort !== undefined
                  ? <button type="button" onClick={() => onSort({ by: one.key, down: active ? !sorting.down : false })}>
                      {one.title}{active ? <Icon name={sorting.down ? "down" : "up"} size={12} /> : null}
                    </button>
                  : one.title}
              </div>
            );
          })}
        </div>
      </div>
      {rows.length === 0
        ? <div class="tempty">{empty}</div>
        : <div role="rowgroup" class="tbody" ref={body} style={{ height: `${rows.length * height}px`, "--tracks": tracks }}>
            <div role="presentation" class="window" style={{ transform: `translateY(${from * height}px)` }}>
              {shown.map((row, at) => (
                <Row key={id(row)} row={row} id={id(row)} index={from + at} narrow={narrow} columns={columns} tone={tone?.(row) ?? ""} />
              ))}
            </div>
          </div>}
    </div>
  );
}
