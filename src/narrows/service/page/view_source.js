// A stream or a table: its schema, who needs which leaf of it, and what that saves.

import { all, at, get, poll } from "./api.js";
import { rates, remember } from "./counts.js";
import { h, show } from "./dom.js";
import * as say from "./format.js";
import { letterPanel } from "./letters.js";
import { drop, failing, leaves, link, panel } from "./parts.js";
import { plot } from "./plot.js";
import { sqlText } from "./sql.js";
import { schemaTree } from "./tree.js";

export function sourceView(main, { kind, name, signal }) {
  const samples = [];
  let shared = null;
  let letters = null;
  // A pipeline only knows the names of what it reads: a stream, or else a table.
  const found = () => {
    if (kind !== "sources") return get(at(kind, name), signal);
    return get(at("streams", name), signal).catch((error) =>
      error.status === 404 ? get(at("tables", name), signal) : Promise.reject(error),
    );
  };
  const look = async () => {
    const [source, pipelines] = await Promise.all([found(), all("pipelines", signal)]);
    letters ??= letterPanel(name, { signal, replays: source.kind === "stream" });
    if (source.shared) shared = await get(at("shared", name), signal);
    if (source.kind === "stream") {
      const history = await get(`${at("streams", name)}/history`, signal);
      for (const sample of history)
        if (sample.time > (samples.at(-1)?.time ?? 0)) remember(samples, sample);
    }
    const running = new Set(
      pipelines.filter(({ actual }) => actual === "running").map((each) => each.name),
    );
    show(main, drawn(source, shared, samples, running, letters));
  };
  poll(look, 2000, signal, failing(main));
}

function drawn(source, shared, samples, running, letters) {
  const gone = () => (location.hash = "#/");
  const kind = source.kind === "stream" ? "streams" : "tables";
  return [
    h(
      "div",
      { class: "title" },
      h(
        "h1",
        {},
        source.name,
        h(
          "small",
          {},
          `${source.shared ? "shared " : ""}${source.kind}, ${source.format} from ${source.connector}`,
        ),
      ),
      h(
        "span",
        { class: "actions" },
        source.pipelines.length === 0 && drop(kind, source.name, gone),
      ),
    ),
    h(
      "div",
      { class: "columns" },
      panel(
        "Schema",
        h(
          "div",
          {},
          h("p", { class: "key" }, "filled: decoded now; beside a leaf: who needs it"),
          schemaTree(source.tree, { who: true, running }),
        ),
        {
          key: "schema",
          aside: h(
            "span",
            { id: "decoded" },
            leaves(source.leaves_decoded, source.leaves, "leaves decoded"),
          ),
        },
      ),
      h(
        "div",
        { class: "stack", "data-key": "right" },
        samples.length > 0 &&
          panel("What is saved", saved(samples, source.leaves), { key: "saved" }),
        shared &&
          panel("Shared by", consumers(shared), {
            key: "shared",
            aside: h(
              "span",
              { class: "muted" },
              `version ${shared.version}, ${shared.retained} entries kept`,
            ),
          }),
        letters,
        panel("Declared as", sqlText(source.sql ?? ""), { key: "sql" }),
      ),
    ),
  ];
}

function saved(samples, total) {
  const last = samples.at(-1);
  const decoded = samples.map((sample) => ({
    ...sample,
    bytes_decoded: sample.bytes_in - sample.bytes_saved,
  }));
  const speed = (value) => `${say.bytes(value)}/s`;
  return h(
    "div",
    { class: "plots" },
    h(
      "p",
      { class: "headline" },
      h("b", {}, say.percent(last.bytes_saved, last.bytes_in)),
      ` of ${say.bytes(last.bytes_in)} never became a value`,
    ),
    plot("bytes", [
      { name: "read", points: rates(decoded, "bytes_in"), format: speed, muted: true },
      { name: "decoded", points: rates(decoded, "bytes_decoded"), format: speed },
    ]),
    plot("leaves decoded", [
      {
        name: "decoded",
        points: samples.map(({ time, leaves_decoded: n }) => [time, n]),
        format: (n) => `${n} of ${total}`,
        steps: true,
      },
    ]),
    plot("payloads", [
      { name: "payloads", points: rates(samples, "payloads"), format: (n) => `${say.count(n)}/s` },
    ]),
  );
}

function consumers(shared) {
  if (shared.consumers.length === 0)
    return h("p", { class: "empty" }, "No pipeline runs on it: nothing is decoded for anybody.");
  return h(
    "ul",
    { class: "consumers" },
    shared.consumers.map(({ pipeline, columns, leaves: n, lag }) =>
      h(
        "li",
        { "data-key": pipeline },
        link("pipelines", pipeline),
        leaves(n, shared.leaves),
        h("span", { class: "muted" }, `${say.count(lag)} entries behind`),
        h("code", {}, columns.join(", ")),
      ),
    ),
  );
}
