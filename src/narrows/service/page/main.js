// Routes by the part of the address behind `#`, and what stands above every view.

import { poll, readiness } from "./api.js";
import { h, show } from "./dom.js";
import { editorView } from "./view_editor.js";
import { overview } from "./view_overview.js";
import { pipelineView } from "./view_pipeline.js";
import { sinkView } from "./view_sink.js";
import { sourceView } from "./view_source.js";

const ROUTES = {
  "": ["Overview", overview],
  editor: ["Editor", editorView],
  pipelines: ["Pipeline", pipelineView],
  streams: ["Stream", sourceView],
  tables: ["Table", sourceView],
  sources: ["Source", sourceView],
  sinks: ["Sink", sinkView],
};
const main = document.getElementById("main");
let leaving = new AbortController();

function go(first = false) {
  const hash = location.hash || "#/";
  if (!hash.startsWith("#/")) return main.focus();
  const [kind, ...rest] = hash.slice(2).split("/");
  const name = decoded(rest.join("/"));
  const [title, view] = ROUTES[kind] ?? [];
  leaving.abort();
  leaving = new AbortController();
  main.replaceChildren();
  main.className = `view-${kind || "overview"}`;
  for (const link of document.querySelectorAll("nav a")) {
    const here = link.getAttribute("href") === `#/${kind === "editor" ? kind : ""}`;
    if (here) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = name ? `${name} – Narrows` : `${title ?? "Not found"} – Narrows`;
  if (view) view(main, { kind, name, signal: leaving.signal });
  else
    main.append(
      h(
        "p",
        { class: "empty" },
        "There is no such page. ",
        h("a", { href: "#/" }, "To the overview"),
      ),
    );
  if (!first && kind !== "editor") main.focus({ preventScroll: true });
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

// --- the colours ----------------------------------------------------------------------------------

const theme = document.getElementById("theme");
const THEMES = { auto: ["◐", "as the system says"], light: ["○", "light"], dark: ["●", "dark"] };

function showTheme() {
  const chosen = document.documentElement.dataset.theme ?? "auto";
  const [sign, words] = THEMES[chosen];
  theme.textContent = sign;
  theme.title = `Colours: ${words}`;
  theme.setAttribute("aria-label", theme.title);
}

theme.onclick = () => {
  const names = Object.keys(THEMES);
  const next =
    names[(names.indexOf(document.documentElement.dataset.theme ?? "auto") + 1) % names.length];
  if (next === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = next;
  localStorage.setItem("narrows-theme", next);
  showTheme();
};

// --- the service ----------------------------------------------------------------------------------

const SPARK = {
  up: "Spark is up",
  starting: "Spark starts",
  failed: "no Spark",
  closed: "Spark has ended",
};

function showService(kind, text, title = "") {
  show(
    document.getElementById("service"),
    h(
      "span",
      { class: "state", "data-state": kind, title },
      h("i", { "aria-hidden": "true" }),
      h("span", { class: "words" }, text),
    ),
  );
}

async function lookAtService() {
  const { spark, reason } = await readiness();
  const kind = { up: "running", starting: "starting" }[spark] ?? "failed";
  showService(kind, SPARK[spark] ?? spark, reason ?? "");
}

showTheme();
addEventListener("hashchange", () => go());
go(true);
poll(lookAtService, 3000, new AbortController().signal, () => showService("failed", "no answer"));
