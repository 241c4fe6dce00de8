// A plan as a picture: rows flow downwards, from sources to sinks.

import { h } from "./dom.js";
import { leaves } from "./parts.js";

const LARGE = new Set(["fields", "schema", "ships", "filter", "predicate", "keys", "calls", "on"]);

export function planPicture(root) {
  return h(
    "div",
    { class: "plan", role: "group", "aria-label": "The plan: rows flow downwards" },
    flow(root),
  );
}

function flow(node) {
  return h(
    "div",
    { class: "flow" },
    node.children.length > 0 &&
      h(
        "div",
        { class: node.children.length > 1 ? "inputs many" : "inputs" },
        node.children.map(flow),
      ),
    box(node),
  );
}

function box({ operator, info, children }) {
  const kind =
    children.length === 0
      ? "source"
      : /Sink/.test(operator)
        ? "sink"
        : /Decoder|Ingest/.test(operator)
          ? "decoder"
          : "";
  const { decodes, ...others } = info;
  const [, decoded, total] = /^(\d+) of (\d+) leaves/.exec(String(decodes ?? "")) ?? [];
  const rest = total || !decodes ? others : info;
  return h(
    "div",
    { class: `box ${kind}` },
    h("b", {}, operator.replace(/^Physical/, "")),
    total && leaves(Number(decoded), Number(total)),
    h(
      "dl",
      {},
      Object.entries(rest).map(([key, value]) => {
        const text = Array.isArray(value)
          ? value.join(LARGE.has(key) ? "\n" : ", ")
          : String(value);
        return [h("dt", {}, key), h("dd", {}, text)];
      }),
    ),
  );
}
