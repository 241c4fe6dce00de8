// A pipeline: its plan, its progress, its rows as they come, and what it could not read.

import { all, at, events, get } from "./api.js";
import { rate, rates, remember, sampleOf } from "./counts.js";
import { h, kept, show } from "./dom.js";
import { openInEditor } from "./draft.js";
import * as say from "./format.js";
import { letterPanel } from "./letters.js";
import { link, panel, pipelineActions, state, trouble } from "./parts.js";
import { planPicture } from "./plan.js";
import { plot } from "./plot.js";
import { sqlText } from "./sql.js";
import { cell } from "./table.js";

export async function pipelineView(main, { name, signal }) {
  const path = at("pipelines", name);
  let details, explained, samples, streams;
  const learn = async () =>
    ([details, explained] = await Promise.all([get(path, signal), get(`${path}/explain`, signal)]));
  try {
    [, samples, streams] = await Promise.all([
      learn(),
      get(`${path}/history`, signal),
      all("streams", signal),
    ]);
  } catch (error) {
    if (!signal.aborted) show(main, trouble(error));
    return;
  }
  const isStream = (source) => streams.some(({ name }) => name === source);
  const letters = details.sources.map((source) =>
    letterPanel(source, { signal, replays: isStream(source) }),
  );
  const rows = liveRows(path, signal);
  const draw = (now) => show(main, drawn(now, details, explained, samples, rows, letters, look));
  const taken = (kind, now) => {
    if (kind === "dropped") return (location.hash = "#/");
    if (now.query !== details.query) learn(); // somebody has replaced it
    if (now.stats) remember(samples, sampleOf(now.stats));
    draw(now);
  };
  const look = async () => taken("progress", await get(path, signal));
  draw(details);
  events(`${path}/events`, signal, taken, (error) => show(main, trouble(error)));
}

function drawn(now, details, explained, samples, rows, letters, look) {
  const gone = () => (location.hash = "#/");
  const plan = explained.plan.physical ?? explained.plan.logical;
  return [
    h(
      "div",
      { class: "title" },
      h("h1", {}, now.name, h("small", {}, "pipeline")),
      state(now),
      pipelineActions(now, look, { dropped: gone, kind: "primary" }),
    ),
    now.error && h("p", { class: "trouble", role: "alert" }, now.error),
    now.stats?.last_failure &&
      !now.error &&
      h("p", { class: "muted" }, `last failure: ${now.stats.last_failure}`),
    tiles(now, samples),
    h(
      "div",
      { class: "columns" },
      h(
        "div",
        { class: "stack", "data-key": "left" },
        panel("Rows as they come", rows, { key: "rows" }),
        letters,
        panel("Query", sqlText(now.query), {
          key: "query",
          aside: h(
            "button",
            { type: "button", onclick: () => openInEditor(now.query) },
            "Open in editor",
          ),
        }),
        details.notices.length > 0 &&
          panel("Notices", h("ul", { class: "notices" }, details.notices.map(notice)), {
            key: "notices",
          }),
      ),
      h(
        "div",
        { class: "stack", "data-key": "right" },
        samples.length > 0 && panel("Progress", plots(samples), { key: "progress" }),
        panel("Plan", h("div", { class: "scroll", tabindex: "0" }, planPicture(plan)), {
          key: "plan",
          aside:
            details.execution &&
            h(
              "span",
              { class: "muted", title: details.execution.reason },
              `runs as ${details.execution.mode}`,
            ),
        }),
      ),
    ),
  ];
}

const notice = ({ message, hint }) => h("li", {}, message, hint && h("small", {}, ` – ${hint}`));

function tiles(now, samples) {
  const last = samples.at(-1);
  const tile = (label, value, kind = "") =>
    h("div", { class: `tile ${kind}` }, h("dt", {}, label), h("dd", {}, value));
  return h(
    "dl",
    { class: "tiles" },
    tile(
      "reads",
      now.sources.map((name, n) => [n ? ", " : "", link("sources", name)]),
    ),
    tile(
      "writes",
      now.sinks.map((name, n) => [n ? ", " : "", link("sinks", name)]),
    ),
    tile("rows", `${say.count(rate(samples, "rows"))} /s`),
    tile("lag", last ? say.lag(last.lag) : "–"),
    tile("not decoded", last ? say.percent(last.bytes_saved, last.bytes_in) : "–", "accent"),
    tile("bad", last ? say.count(last.bad) : "–", last?.bad ? "warn" : ""),
    tile("late", now.stats ? say.count(now.stats.late) : "–"),
    tile("restarts", say.count(now.restarts)),
    tile(now.actual === "running" ? "runs for" : "ran for", say.seconds(now.seconds)),
  );
}

function plots(samples) {
  const speed = (n) => `${say.count(n)}/s`;
  const unit = ["payloads", "bytes", "units", "entries"].find((each) =>
    samples.some(({ lag }) => each in lag),
  );
  const behind = (n) => say.lag({ [unit]: n });
  return h(
    "div",
    { class: "plots" },
    plot("payloads and rows", [
      { name: "payloads", points: rates(samples, "payloads"), format: speed, muted: true },
      { name: "rows", points: rates(samples, "rows"), format: speed },
    ]),
    plot("lag", [
      {
        name: "lag",
        points: unit ? samples.map(({ time, lag }) => [time, lag[unit] ?? null]) : [],
        format: behind,
      },
    ]),
    samples.some((sample) => sample.batch_seconds !== null) &&
      plot("micro-batch", [
        {
          name: "took",
          points: samples.map(({ time, batch_seconds: took }) => [time, took]),
          format: say.seconds,
        },
      ]),
  );
}

// --- rows -----------------------------------------------------------------------------------------

const SHOWN = 50;

function liveRows(path, signal) {
  const element = h("div", {
    class: "scroll live",
    tabindex: "0",
    role: "log",
    "aria-live": "off",
    "aria-label": "Rows as they come",
    "data-key": "live",
  });
  const rows = [];
  let number = 0;
  const draw = () => {
    const names = [
      ...new Set(
        rows.flatMap(({ row }) => (typeof row === "object" && row ? Object.keys(row) : ["row"])),
      ),
    ];
    show(
      element,
      rows.length === 0
        ? h("p", { class: "empty" }, "No rows yet.")
        : h(
            "table",
            { class: "rows" },
            h(
              "thead",
              {},
              h(
                "tr",
                {},
                names.map((name) => h("th", { scope: "col" }, name)),
              ),
            ),
            h(
              "tbody",
              {},
              rows.map(({ row, key }) =>
                h(
                  "tr",
                  { "data-key": key, class: "new" },
                  names.map((name) => cell(typeof row === "object" && row ? row[name] : row)),
                ),
              ),
            ),
          ),
    );
  };
  const begun = () => (rows.length = 0); // the last rows come again
  let waits = false;
  const taken = (kind, { row }) => {
    rows.unshift({ row, key: String((number += 1)) });
    rows.length = Math.min(rows.length, SHOWN);
    if (!waits) requestAnimationFrame(() => ((waits = false), draw()));
    waits = true;
  };
  draw();
  events(
    `${path}/rows?last=20`,
    signal,
    taken,
    (error) =>
      show(
        element,
        h("p", { class: "empty" }, error.message, h("br"), error.problems[0]?.hint ?? ""),
      ),
    begun,
  );
  return kept(element);
}
