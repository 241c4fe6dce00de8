// What a plan decodes, as a tree, as a picture and as EXPLAIN's text.

import { h } from "./dom.js";
import { leaves } from "./parts.js";
import { planPicture } from "./plan.js";
import { schemaTree } from "./tree.js";

const TABS = { decoded: "Decoded", plan: "Plan", text: "EXPLAIN" };
let chosen = "decoded";

export function explained(answer) {
  const pick = (event) => {
    chosen = event.currentTarget.dataset.tab;
    const panel = event.currentTarget.closest(".explained");
    for (const tab of panel.querySelectorAll("[role=tab]")) {
      tab.setAttribute("aria-selected", String(tab.dataset.tab === chosen));
      tab.tabIndex = tab.dataset.tab === chosen ? 0 : -1;
    }
    for (const body of panel.querySelectorAll("[role=tabpanel]"))
      body.hidden = body.id !== `tab-${chosen}`;
  };
  const moved = (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const tabs = [...event.currentTarget.parentNode.children];
    const next = tabs[(tabs.indexOf(event.currentTarget) + step + tabs.length) % tabs.length];
    next.focus();
    next.click();
  };
  const tab = (name) =>
    h(
      "button",
      {
        type: "button",
        role: "tab",
        "data-tab": name,
        id: `pick-${name}`,
        "aria-controls": `tab-${name}`,
        "aria-selected": String(name === chosen),
        tabindex: name === chosen ? "0" : "-1",
        onclick: pick,
        onkeydown: moved,
      },
      TABS[name],
    );
  const body = (name, ...inside) =>
    h(
      "div",
      {
        role: "tabpanel",
        id: `tab-${name}`,
        "data-key": name,
        "aria-labelledby": `pick-${name}`,
        hidden: name !== chosen,
      },
      inside,
    );
  return [
    h(
      "div",
      { class: "head" },
      h("div", { class: "tabs", role: "tablist" }, Object.keys(TABS).map(tab)),
      answer.execution &&
        h(
          "span",
          { class: "muted", title: answer.execution.reason },
          `runs as ${answer.execution.mode}`,
        ),
    ),
    body(
      "decoded",
      answer.reads.map(read),
      answer.notices.length > 0 && h("ul", { class: "notices" }, answer.notices.map(notice)),
      outputs(answer.outputs),
    ),
    body(
      "plan",
      h(
        "div",
        { class: "scroll", tabindex: "0" },
        planPicture(answer.plan.physical ?? answer.plan.logical),
      ),
    ),
    body("text", h("pre", { class: "text", tabindex: "0" }, answer.text)),
  ];
}

const read = (each) =>
  h(
    "div",
    { class: "read", "data-key": each.source },
    h("h3", {}, each.source, leaves(each.leaves_decoded, each.leaves, "leaves decoded")),
    h("code", { class: "columns-text", title: "as EXPLAIN writes it" }, each.columns.join(", ")),
    schemaTree(each.tree),
    each.metadata.length > 0 &&
      h("p", { class: "key" }, "and what comes with it: ", h("code", {}, each.metadata.join(", "))),
  );

const notice = ({ message, hint }) => h("li", {}, message, hint && h("small", {}, ` – ${hint}`));

const outputs = (columns) =>
  h(
    "details",
    { class: "outputs", "data-key": "outputs" },
    h("summary", {}, `gives ${columns.length} column${columns.length === 1 ? "" : "s"}`),
    h(
      "ul",
      {},
      columns.map(({ name, type }) =>
        h("li", {}, h("code", {}, name), h("span", { class: "type" }, type.toLowerCase())),
      ),
    ),
  );

export function nothingToExplain(relations, use) {
  const sources = relations.filter(({ columns }) => columns);
  return [
    h("div", { class: "head" }, h("h2", {}, "What it would decode")),
    h(
      "p",
      { class: "empty" },
      "Write a query: here you see, while you type, which leaves of its sources it needs.",
    ),
    use &&
      sources.length > 0 &&
      h(
        "p",
        {},
        "Begin with ",
        sources
          .slice(0, 12)
          .map(({ name }) => h("button", { type: "button", onclick: () => use(name) }, name)),
      ),
  ];
}
