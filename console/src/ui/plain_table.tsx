/** A small table that sorts by every column and downloads as CSV; both use the text of its cells. */

import { toChildArray, type ComponentChildren, type JSX, type VNode } from "preact";
import { useRef, useState } from "preact/hooks";
import { csvOf, download, sortValue } from "../csv.ts";
import { Panel, Scroll } from "./components.tsx";
import { Icon } from "./icons.tsx";

interface Order {
  column: number;
  down: boolean;
  rank: Map<string, number>; // by row key
}

/** The rows need keys. A heading in brackets is right-aligned; an empty heading does not sort. */
export function PlainTable({ head, children, title, aside, file }: { head: (string | [string])[]; children: ComponentChildren; title: string; aside?: ComponentChildren; file?: string }): JSX.Element {
  return (
    <Panel title={title} flush aside={<>{aside}<CsvButton file={file ?? title} of={title} /></>}>
      <SortedRows head={head} title={title}>{children}</SortedRows>
    </Panel>
  );
}

export function SortedRows({ head, children, title, class: more = "" }: { head: (string | [string])[]; children: ComponentChildren; title: string; class?: string }): JSX.Element {
  const body = useRef<HTMLTableSectionElement>(null);
  const [order, setOrder] = useState<Order | null>(null);
  const rows = toChildArray(children) as VNode[];
  const sort = (column: number): void => {
    const down = order?.column === column ? !order.down : false;
    const keyed = rows.map((row, index) => ({ key: String(row.key ?? index), cell: body.current?.querySelector(`tr[data-row="${CSS.escape(String(row.key ?? index))}"]`)?.children[column] }));
    const values = keyed.map((one) => ({ key: one.key, value: sortValue(one.cell) }));
    values.sort((a, b) => (down ? -1 : 1) * (a.value < b.value ? -1 : a.value > b.value ? 1 : 0));
    setOrder({ column, down, rank: new Map(values.map((one, index) => [one.key, index])) });
  };
  const shown = order === null ? rows : [...rows].sort((a, b) => (order.rank.get(String(a.key)) ?? 0) - (order.rank.get(String(b.key)) ?? 0));
  return (
    <Scroll label={title}><table class={`plain ${more}`} data-csv={title}>
      <thead><tr>{head.map((one, index) => {
        const [text, right] = typeof one === "string" ? [one, false] : [one[0], true];
        const active = order?.column === index;
        return <th key={text} class={right ? "num" : ""} {...(active ? { "aria-sort": order.down ? "descending" as const : "ascending" as const } : {})}>
          {text === "" ? "" : <button type="button" class="sorter" onClick={() => sort(index)}>{text}{active ? <Icon name={order.down ? "down" : "up"} size={12} /> : null}</button>}</th>;
      })}</tr></thead>
      <tbody ref={body}>{shown.map((row, index) => marked(row, index))}</tbody>
    </table></Scroll>
  );
}

/** The row with its key in the DOM, so that its cells can be found. */
function marked(row: VNode, index: number): VNode {
  (row.props as Record<string, unknown>)["data-row"] = String(row.key ?? index);
  return row;
}

export function CsvButton({ file, of }: { file: string; of: string }): JSX.Element {
  return (
    <button type="button" class="button quiet" aria-label={`Download ${of} as CSV`} onClick={() => {
      const table = document.querySelector<HTMLTableElement>(`table[data-csv="${CSS.escape(of)}"]`);
      if (table === null) return;
      const lines = [...table.rows].map((row) => [...row.cells].map((cell) => String(sortValue(cell, false))));
      download(file, csvOf(lines));
    }}><Icon name="download" />CSV</button>
  );
}
