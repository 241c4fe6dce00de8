// The editor: what a query would decode, while it is typed; then its rows, or a pipeline of it.

import { all, post, Problem, remove } from "./api.js";
import { complete } from "./completion.js";
import { h, show } from "./dom.js";
import { draft, keepDraft } from "./draft.js";
import { explained, nothingToExplain } from "./explained.js";
import { explainable, placed, plannedAt } from "./explaining.js";
import { askPipeline } from "./new_pipeline.js";
import { action, told } from "./parts.js";
import { statements } from "./sql.js";
import { sqlEditor } from "./sql_editor.js";
import { rowTable } from "./table.js";

const PAUSE = 120;

export function editorView(main, { signal }) {
  let relations = [];
  let timer = 0;
  let asking = new AbortController();
  signal.addEventListener("abort", () => asking.abort());

  const status = h("p", { class: "status", role: "status" });
  const wrong = h("ul", { class: "problems", id: "problems", "aria-label": "Problems" });
  const results = h("div", { class: "results" });
  const beside = h("section", { class: "panel explained", "aria-label": "What it would decode" });

  // --- while typing -------------------------------------------------------------------------------

  const editor = sqlEditor({
    value: draft(),
    changed(text) {
      keepDraft(text);
      clearTimeout(timer);
      timer = setTimeout(explain, PAUSE);
    },
    complete: (text, cursor, asked) => complete(text, cursor, relations, asked),
    run: () => runButton().click(),
  });

  async function explain() {
    asking.abort();
    asking = new AbortController();
    const text = editor.area.value;
    const { sql, planned } = explainable(text, editor.area.selectionStart);
    if (!text.trim()) {
      marked(text, []);
      show(status, "");
      return show(
        beside,
        nothingToExplain(relations, (name) =>
          editor.replace(0, text.length, `SELECT * FROM ${name}`),
        ),
      );
    }
    try {
      const answer = await post("explain", { sql }, asking.signal);
      marked(text, []);
      const decoded = answer.reads.map(
        ({ source, leaves_decoded: n, leaves }) => `${n} of ${leaves} leaves of ${source}`,
      );
      show(
        status,
        decoded.length ? `decodes ${decoded.join(", ")}` : "reads nothing",
        h("small", {}, ` planned in ${answer.milliseconds.toFixed(1)} ms`),
      );
      show(beside, explained(answer));
    } catch (error) {
      if (error.name === "AbortError" || signal.aborted) return;
      const declared = !planned && error.problems?.every(({ span }) => !span);
      marked(text, declared ? [] : (error.problems ?? []), declared ? null : error);
      show(
        status,
        declared
          ? "only declarations: nothing to plan"
          : `${error.problems?.length || 1} problem${error.problems?.length > 1 ? "s" : ""}`,
      );
      beside.classList.toggle("stale", !declared);
      if (declared) show(beside, nothingToExplain(relations, null));
    }
  }

  function marked(text, problems, error = null) {
    beside.classList.remove("stale");
    const found = placed(text, problems);
    editor.mark(found);
    const elsewhere = problems.filter(({ span }) => !span);
    show(
      wrong,
      found.map(({ start, end, line, column, message, hint, suggestion }) =>
        h(
          "li",
          {},
          h(
            "button",
            {
              type: "button",
              class: "quiet place",
              title: "Go there",
              onclick: () => (editor.area.focus(), editor.area.setSelectionRange(start, end)),
            },
            `${line}:${column}`,
          ),
          h("span", {}, message, hint && h("small", {}, ` ${hint}`)),
          suggestion &&
            h(
              "button",
              { type: "button", onclick: () => editor.replace(start, end, suggestion) },
              `Use ${suggestion}`,
            ),
        ),
      ),
      elsewhere.map(({ message, hint }) =>
        h("li", {}, h("span", {}, message, hint && h("small", {}, ` ${hint}`))),
      ),
      error && problems.length === 0 && h("li", {}, told(error)),
    );
  }

  // --- doing it -----------------------------------------------------------------------------------

  async function run() {
    const { selectionStart: from, selectionEnd: to, value } = editor.area;
    const [first, sql] = from === to ? [0, value] : [from, value.slice(from, to)];
    const parts = statements(sql);
    if (parts.length === 0) return null;
    const single = parts.length === 1 && ["SELECT", "WITH", "VALUES"].includes(parts[0].verb);
    const id = `page-${Date.now()}-${Math.random().toString(36).slice(2)}`;
    show(
      results,
      h(
        "div",
        { class: "panel" },
        h(
          "p",
          { class: "busy" },
          "runs …",
          single && action("Cancel", () => remove(`queries/${id}`), { title: "Cancel the query" }),
        ),
      ),
    );
    const began = performance.now();
    try {
      const answers = single
        ? [
            await post(
              "queries",
              { sql: sql.slice(parts[0].start, parts[0].end), id, limit: 1000 },
              signal,
            ),
          ]
        : (await post("statements", { sql }, signal)).answers;
      show(
        results,
        answers.map((answer) => resultOf(answer)),
        h("p", { class: "muted" }, `${((performance.now() - began) / 1000).toFixed(2)} s`),
      );
      relearn(); // not awaited: the next run need not wait for it
      return `${answers.length === 1 ? "done" : `${answers.length} statements executed`}`;
    } catch (error) {
      if (signal.aborted) return null;
      const executed = error.executed
        ? ` ${error.executed} statements before it were executed.`
        : "";
      show(results, h("p", { class: "trouble", role: "alert" }, told(error), executed));
      if (error instanceof Problem && first === 0 && !single)
        editor.mark(placed(value, error.problems));
      relearn(); // not awaited: the next run need not wait for it
      return null;
    }
  }

  async function create() {
    const text = editor.area.value;
    const planned = plannedAt(text, editor.area.selectionStart);
    if (!planned || planned.verb === "CREATE" || planned.verb === "EXPLAIN") {
      throw new Problem(0, {
        detail:
          "put the cursor into a query: a SELECT becomes the pipeline. A CREATE PIPELINE is executed with Run",
      });
    }
    const name = await askPipeline(text.slice(planned.start, planned.end).trim(), relations);
    if (name) location.hash = `#/pipelines/${encodeURIComponent(name)}`;
  }

  async function learn() {
    const kinds = { streams: "stream", tables: "table", sinks: "sink", pipelines: "pipeline" };
    const lists = await Promise.all(Object.keys(kinds).map((path) => all(path, signal)));
    relations = lists.flatMap((list, n) =>
      list.map(({ name, columns }) => ({ name, columns, kind: Object.values(kinds)[n] })),
    );
    await explain();
  }

  function relearn() {
    learn().catch((error) => !signal.aborted && show(wrong, h("li", {}, told(error))));
  }

  const bar = h(
    "div",
    { class: "head toolbar" },
    status,
    h(
      "span",
      { class: "actions" },
      action("Create pipeline…", create, { title: "Create pipeline of the query at the cursor" }),
      action(["Run", h("kbd", {}, "Ctrl ⏎")], run, {
        kind: "primary run",
        title: "Run all statements, or the selected text (Ctrl Enter)",
      }),
    ),
  );
  const runButton = () => bar.querySelector(".run");

  main.append(
    h("h1", { class: "hidden" }, "Editor"),
    h(
      "div",
      { class: "columns editing" },
      h(
        "div",
        { class: "stack" },
        h("section", { class: "panel flush" }, bar, editor.element, wrong),
        results,
      ),
      beside,
    ),
  );
  editor.area.focus();
  relearn();
}

function resultOf({ statement, text, columns, rows, more }) {
  if (rows) return h("section", { class: "panel flush" }, rowTable(columns, rows, { more }));
  if (text)
    return h("section", { class: "panel" }, h("pre", { class: "text", tabindex: "0" }, text));
  return h("p", { class: "done" }, "✓ ", (statement ?? "done").replaceAll("_", " "));
}
