// A sink: what it is, who writes into it, and its last rows where it keeps them.

import { at, get, poll, Problem } from "./api.js";
import { h, show } from "./dom.js";
import { letterPanel } from "./letters.js";
import { drop, failing, link, panel } from "./parts.js";
import { sqlText } from "./sql.js";
import { rowTable } from "./table.js";

export function sinkView(main, { name, signal }) {
  const letters = letterPanel(name, { signal, replays: false });
  const look = async () => {
    const sink = await get(at("sinks", name), signal);
    const rows = await get(`${at("sinks", name)}/rows?limit=100`, signal).catch((error) => {
      if (error instanceof Problem && error.status === 400) return null; // it keeps no rows here
      throw error;
    });
    show(main, drawn(sink, rows, letters));
  };
  poll(look, 2000, signal, failing(main));
}

function drawn(sink, rows, letters) {
  const names = [...new Set((rows ?? []).flatMap((row) => Object.keys(row)))];
  return [
    h(
      "div",
      { class: "title" },
      h(
        "h1",
        {},
        sink.name,
        h("small", {}, `sink, ${sink.format} to ${sink.connector}, ${sink.guarantee}`),
      ),
      h(
        "span",
        { class: "actions" },
        sink.pipelines.length === 0 && drop("sinks", sink.name, () => (location.hash = "#/")),
      ),
    ),
    h(
      "div",
      { class: "stack" },
      panel(
        "Written by",
        sink.pipelines.length
          ? h(
              "p",
              {},
              sink.pipelines.map((each, n) => [n ? ", " : "", link("pipelines", each)]),
            )
          : h("p", { class: "empty" }, "nobody"),
        { key: "by" },
      ),
      rows &&
        panel(
          "Last rows",
          rowTable(
            names.map((name) => ({ name })),
            [...rows].reverse(),
          ),
          { key: "rows" },
        ),
      letters,
      panel("Declared as", sqlText(sink.sql ?? ""), { key: "sql" }),
    ),
  ];
}
