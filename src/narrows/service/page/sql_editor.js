// A text area with colours behind it: the browser's own editing, selection and undo stay.
//
// What is wrong is underlined where it stands, and said at the end of its line. A list of what may
// come next opens while typing, or with Ctrl-Space; Tab moves on to the next control when it is closed.

import { h, show } from "./dom.js";
import { tokens } from "./sql.js";

// complete(text, cursor, asked) -> { from, to, items } or null
export function sqlEditor({ value, changed, complete, run }) {
  const behind = h("pre", { class: "behind", "aria-hidden": "true" });
  const list = h("ul", {
    class: "completions",
    role: "listbox",
    id: "completions",
    "aria-label": "Completions",
    hidden: true,
  });
  const area = h("textarea", {
    id: "sql",
    class: "area",
    "aria-label": "SQL",
    "aria-autocomplete": "list",
    "aria-controls": "completions",
    "aria-describedby": "problems",
    spellcheck: "false",
    autocapitalize: "off",
    autocomplete: "off",
    autocorrect: "off",
    wrap: "off",
    value,
    placeholder: "SELECT vin, tyres[0]->pressure FROM vehicles",
  });
  let problems = [];
  let offered = null;
  let chosen = 0;

  const draw = () => {
    show(behind, painted(area.value, problems), "\n");
    scrolled();
  };
  const scrolled = () => {
    behind.scrollTop = area.scrollTop;
    behind.scrollLeft = area.scrollLeft;
    if (offered) place();
  };

  // --- completion ---------------------------------------------------------------------------------

  const offer = (asked) => {
    offered =
      area.selectionStart === area.selectionEnd
        ? complete(area.value, area.selectionStart, asked)
        : null;
    chosen = 0;
    drawList();
  };
  const close = () => {
    offered = null;
    drawList();
  };
  const place = () => {
    const before = area.value.slice(0, offered.from);
    const line = before.split("\n").length;
    const column = before.length - (before.lastIndexOf("\n") + 1);
    list.style.setProperty("--column", column);
    list.style.setProperty("--line", line);
    list.style.setProperty("--x", `${-area.scrollLeft}px`);
    list.style.setProperty("--y", `${-area.scrollTop}px`);
  };
  const drawList = () => {
    list.hidden = !offered;
    area.setAttribute("aria-expanded", String(!!offered));
    if (!offered) return area.removeAttribute("aria-activedescendant");
    place();
    show(
      list,
      offered.items.map((item, n) =>
        h(
          "li",
          {
            role: "option",
            id: `completion-${n}`,
            "data-key": `${n}`,
            "aria-selected": String(n === chosen),
            "data-kind": item.kind,
            onclick: () => take(n),
          },
          h("span", {}, item.label),
          h("small", {}, item.detail),
        ),
      ),
    );
    area.setAttribute("aria-activedescendant", `completion-${chosen}`);
    list.children[chosen]?.scrollIntoView({ block: "nearest" });
  };
  const take = (n) => {
    const { from, to, items } = offered;
    close();
    replace(from, to, items[n].insert);
  };
  const replace = (from, to, text) => {
    area.focus();
    area.setSelectionRange(from, to);
    // The old command is the only one that the browser's undo knows about.
    if (!document.execCommand("insertText", false, text)) {
      area.setRangeText(text, from, to, "end");
      typed();
    }
    close();
  };

  // --- what the user does -------------------------------------------------------------------------

  const typed = () => {
    problems = [];
    draw();
    changed(area.value);
  };
  area.addEventListener("input", (event) => {
    typed();
    if (event.inputType?.startsWith("insert") || event.inputType?.startsWith("delete"))
      offer(false);
  });
  area.addEventListener("scroll", scrolled);
  area.addEventListener("blur", () => setTimeout(close, 150));
  area.addEventListener("click", close);
  area.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      return run();
    }
    if (event.key === " " && event.ctrlKey) {
      event.preventDefault();
      return offer(true);
    }
    if (!offered) return;
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 };
    if (event.key in steps) {
      chosen = Math.max(0, Math.min(offered.items.length - 1, chosen + steps[event.key]));
      drawList();
    } else if (event.key === "Enter" || event.key === "Tab") take(chosen);
    else if (event.key === "Escape") close();
    else if (["ArrowLeft", "ArrowRight", "Home", "End"].includes(event.key)) return close();
    else return;
    event.preventDefault();
  });

  draw();
  return {
    element: h("div", { class: "editor" }, behind, area, list),
    area,
    replace,
    mark(found) {
      problems = found;
      draw();
    },
  };
}

// The text in colours, line by line, with what is wrong underlined and said.
function painted(text, problems) {
  const out = [];
  const edges = problems.flatMap(({ start, end }) => [start, end]);
  const lens = (line) => {
    const said = problems.filter((problem) => problem.line === line);
    return (
      said.length > 0 &&
      h("span", { class: "lens" }, `   ${said.map(({ message }) => message).join("; ")}`)
    );
  };
  let line = 1;
  for (const { kind, text: whole, start, end } of tokens(text)) {
    const cuts = [start, ...edges.filter((edge) => edge > start && edge < end), end].sort(
      (a, b) => a - b,
    );
    for (let n = 1; n < cuts.length; n += 1) {
      const bad = problems.some(
        (problem) => problem.start <= cuts[n - 1] && cuts[n] <= problem.end,
      );
      const part = whole.slice(cuts[n - 1] - start, cuts[n] - start);
      part.split("\n").forEach((piece, m) => {
        if (m > 0) {
          out.push(lens(line), "\n");
          line += 1;
        }
        if (piece) out.push(h("span", { class: `t-${kind}${bad ? " bad" : ""}` }, piece));
      });
    }
  }
  out.push(lens(line));
  return out;
}
