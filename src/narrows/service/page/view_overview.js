// Everything that is declared, and how it fares.

import { all, poll } from "./api.js";
import { rate, rates, remember, sampleOf, sampleOfAll } from "./counts.js";
import { h, show } from "./dom.js";
import * as say from "./format.js";
import { drop, failing, leaves, link, panel, pipelineActions, state } from "./parts.js";
import { sparkline } from "./plot.js";
import { listing } from "./table.js";

export function overview(main, { signal }) {
  const samples = new Map();
  const together = [];
  const look = async () => {
    const [pipelines, streams, tables, sinks] = await Promise.all([
      all("pipelines?stats=true", signal),
      all("streams", signal),
      all("tables", signal),
      all("sinks", signal),
    ]);
    const shared = streams.some((each) => each.shared) ? await all("shared", signal) : [];
    remember(together, sampleOfAll(pipelines, shared));
    for (const { name, stats } of pipelines) {
      if (!samples.has(name)) samples.set(name, []);
      if (stats) remember(samples.get(name), sampleOf(stats));
    }
    show(
      main,
      h("h1", { class: "hidden" }, "Overview"),
      drawn({ pipelines, streams, tables, sinks }, samples, together, look),
    );
  };
  poll(look, 2000, signal, failing(main));
}

function drawn({ pipelines, streams, tables, sinks }, samples, together, look) {
  if (pipelines.length + streams.length + tables.length + sinks.length === 0) return [welcome()];
  return [
    totals(pipelines, together),
    panel("Pipelines", pipelineList(pipelines, samples, look), {
      key: "pipelines",
      aside: h("a", { class: "button", href: "#/editor" }, "New"),
    }),
    streams.length > 0 &&
      panel("Streams", sourceList("streams", streams, look), { key: "streams" }),
    tables.length > 0 && panel("Tables", sourceList("tables", tables, look), { key: "tables" }),
    sinks.length > 0 && panel("Sinks", sinkList(sinks, look), { key: "sinks" }),
  ];
}

function welcome() {
  return h(
    "section",
    { class: "welcome" },
    h("h2", {}, "Nothing is declared yet"),
    h(
      "p",
      {},
      "Declare a stream and a sink, then write a query and see what it would decode while you type.",
    ),
    h("a", { class: "button primary", href: "#/editor" }, "Open the editor"),
  );
}

function totals(pipelines, together) {
  const running = pipelines.filter(({ actual }) => actual === "running").length;
  const failed = pipelines.filter(({ actual }) => actual === "failed").length;
  const total = together.at(-1);
  const tile = (label, value, note, kind = "") =>
    h(
      "div",
      { class: `tile ${kind}` },
      h("dt", {}, label),
      h("dd", {}, value, note && h("small", {}, note)),
    );
  return h(
    "dl",
    { class: "tiles" },
    tile("running", String(running), ` of ${pipelines.length} pipelines`),
    tile("payloads", say.count(rate(together, "payloads") ?? 0), " /s"),
    tile("read", say.bytes(rate(together, "bytes_in") ?? 0), " /s"),
    tile(
      "not decoded",
      say.percent(total.bytes_saved, total.bytes_in),
      total.bytes_saved ? ` ${say.bytes(total.bytes_saved)} saved` : "",
      "accent",
    ),
    tile("bad payloads", say.count(total.bad), "", total.bad ? "warn" : ""),
    failed > 0 && tile("failed", String(failed), failed > 1 ? " pipelines" : " pipeline", "bad"),
  );
}

function pipelineList(pipelines, samples, look) {
  if (pipelines.length === 0)
    return h(
      "p",
      { class: "empty" },
      "None yet. ",
      h("a", { href: "#/editor" }, "Write one in the editor"),
    );
  return listing(
    [
      ["Name", "18%"],
      ["State", "11%"],
      ["Reads", "14%"],
      ["Writes", "14%"],
      ["Rows/s", "7%"],
      ["", "9%"],
      ["Lag", "8%"],
      ["Bad", "5%"],
      ["", "14%"],
    ],
    pipelines.map((pipeline) => {
      const mine = samples.get(pipeline.name) ?? [];
      const last = mine.at(-1);
      return {
        key: pipeline.name,
        cells: [
          link("pipelines", pipeline.name),
          state(pipeline),
          pipeline.sources.map((name, n) => [n ? ", " : "", link("sources", name)]),
          pipeline.sinks.map((name, n) => [n ? ", " : "", link("sinks", name)]),
          h(
            "span",
            { class: "number" },
            pipeline.actual === "running" ? say.count(rate(mine, "rows")) : "–",
          ),
          sparkline(rates(mine, "rows")),
          h("span", { class: "number" }, last ? say.lag(last.lag) : "–"),
          h(
            "span",
            { class: last?.bad ? "number warn" : "number" },
            last ? say.count(last.bad) : "–",
          ),
          pipelineActions(pipeline, look),
        ],
        below: pipeline.error && h("p", { class: "trouble" }, pipeline.error),
      };
    }),
  );
}

function sourceList(kind, sources, look) {
  return listing(
    [
      ["Name", "18%"],
      ["Decoded now", "25%"],
      ["From", "14%"],
      ["Format", "7%"],
      ["Read by", "28%"],
      ["", "8%"],
    ],
    sources.map((source) => ({
      key: source.name,
      cells: [
        link(kind, source.name),
        leaves(source.leaves_decoded, source.leaves),
        [source.connector, source.shared && h("span", { class: "chip on" }, "shared")],
        source.format,
        source.pipelines.length
          ? source.pipelines.map((name, n) => [n ? ", " : "", link("pipelines", name)])
          : h("span", { class: "muted" }, "nobody"),
        source.pipelines.length === 0 ? drop(kind, source.name, look) : "",
      ],
    })),
  );
}

function sinkList(sinks, look) {
  return listing(
    [
      ["Name", "18%"],
      ["Guarantee", "25%"],
      ["To", "14%"],
      ["Format", "7%"],
      ["Written by", "28%"],
      ["", "8%"],
    ],
    sinks.map((sink) => ({
      key: sink.name,
      cells: [
        link("sinks", sink.name),
        sink.guarantee,
        sink.connector,
        sink.format,
        sink.pipelines.length
          ? sink.pipelines.map((name, n) => [n ? ", " : "", link("pipelines", name)])
          : h("span", { class: "muted" }, "nobody"),
        sink.pipelines.length === 0 ? drop("sinks", sink.name, look) : "",
      ],
    })),
  );
}
