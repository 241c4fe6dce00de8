// Tables: of things, which become cards on a phone; and of rows that a query gives.

import { h } from "./dom.js";
import { value } from "./format.js";

// heads: [[name, width]]; rows: [{ key, cells, below }]
export function listing(columns, rows) {
  const heads = columns.map(([head]) => head);
  return h(
    "table",
    { class: "listing" },
    h(
      "colgroup",
      {},
      columns.map(([, width]) => h("col", { vars: { width } })),
    ),
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        heads.map((head) => h("th", { scope: "col" }, head)),
      ),
    ),
    h(
      "tbody",
      {},
      rows.flatMap(({ key, cells, below }) => [
        h(
          "tr",
          { "data-key": key },
          cells.map((cell, n) => h("td", { "data-label": heads[n] }, cell)),
        ),
        below &&
          h(
            "tr",
            { "data-key": `${key} below`, class: "below" },
            h("td", { colspan: heads.length }, below),
          ),
      ]),
    ),
  );
}

const SHOWN = 200;

export function rowTable(columns, rows, { more = false } = {}) {
  const shown = rows.slice(0, SHOWN);
  const left = rows.length - shown.length;
  const note = left > 0 ? `${left} more were read and are not shown` : more ? "there are more" : "";
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Rows" },
    h(
      "table",
      { class: "rows" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          columns.map(({ name, type }) =>
            h("th", { scope: "col" }, name, type && h("small", {}, type.toLowerCase())),
          ),
        ),
      ),
      h(
        "tbody",
        {},
        shown.map((row) =>
          h(
            "tr",
            {},
            columns.map(({ name }) => cell(row[name])),
          ),
        ),
      ),
    ),
    rows.length === 0 && h("p", { class: "empty" }, "no rows"),
    note && h("p", { class: "empty" }, note),
  );
}

export function cell(any) {
  const kind = any === null || any === undefined ? "null" : typeof any === "number" ? "number" : "";
  const text = value(any);
  return h(
    "td",
    { class: kind, title: text.length > 60 ? text.slice(0, 2000) : null },
    text.length > 400 ? `${text.slice(0, 400)}…` : text,
  );
}
