// A schema as a tree: what is decoded is filled, what is not stands in the background.

import { at } from "./api.js";
import { h } from "./dom.js";

const WORDS = { all: "decoded", some: "partly decoded", none: "not decoded" };

// who: shows which pipelines need a leaf; running: those of them that run.
export function schemaTree(nodes, { who = false, running = new Set() } = {}) {
  return h(
    "ul",
    { class: "tree" },
    nodes.map((node) => branch(node, { who, running })),
  );
}

function branch(node, options) {
  const own = h(
    "span",
    { class: "leaf", "data-decoded": node.decoded },
    h("i", {
      class: "dot",
      role: "img",
      "aria-label": WORDS[node.decoded],
      title: WORDS[node.decoded],
    }),
    h("span", { class: "name" }, node.name),
    h("span", { class: "type" }, shortType(node.type)),
    options.who && needed(node, options),
  );
  if (node.children.length === 0) return h("li", { "data-key": node.name }, own);
  const below = h(
    "ul",
    {},
    node.children.map((child) => branch(child, options)),
  );
  return h(
    "li",
    { "data-key": node.name },
    h("details", { open: true }, h("summary", {}, own), below),
  );
}

function needed({ needed_by: by, children }, { running }) {
  if (children.length > 0) return null;
  const few = by.slice(0, 4);
  return h(
    "span",
    { class: "who" },
    few.map((name) =>
      h(
        "a",
        {
          class: running.has(name) ? "chip on" : "chip",
          href: `#/${at("pipelines", name)}`,
          title: running.has(name) ? "runs" : "does not run",
        },
        name,
      ),
    ),
    by.length > few.length &&
      h(
        "span",
        { class: "chip", title: by.slice(few.length).join(", ") },
        `+${by.length - few.length}`,
      ),
  );
}

// `ARRAY<STRUCT<...>>` -> `array of struct`: what is inside stands below.
function shortType(type) {
  const words = type.toLowerCase();
  if (words.startsWith("struct<")) return "struct";
  if (words.startsWith("array<")) return `${shortType(type.slice(6, -1))}[]`;
  if (words.startsWith("map<")) return words.includes("struct<") ? "map of struct" : words;
  return words;
}
