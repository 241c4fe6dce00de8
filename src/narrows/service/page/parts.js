// What several views draw: states, leaves, links, buttons that wait for their answer.

import { at, post, Problem, remove } from "./api.js";
import { h, say, show } from "./dom.js";

export const link = (kind, name) => h("a", { href: `#/${at(kind, name)}` }, name);

export function state({ actual, desired }) {
  const away = desired !== actual && !(desired === "running" && actual === "done");
  return h(
    "span",
    { class: "state", "data-state": actual },
    h("i", { "aria-hidden": "true" }),
    actual,
    away && actual !== "starting" && h("small", {}, ` should be ${desired}`),
  );
}

// `3 of 27` as a bar: what is decoded is a little of what there is.
export function leaves(decoded, total, word = "leaves") {
  return h(
    "span",
    { class: "leaves" },
    h(
      "span",
      { class: "gauge", "aria-hidden": "true" },
      h("i", { class: decoded ? "" : "none", vars: { "--part": total ? decoded / total : 0 } }),
    ),
    h("span", {}, h("b", {}, String(decoded)), ` of ${total}${word ? ` ${word}` : ""}`),
  );
}

// A button that does something which takes a while, once.
export function action(label, act, { kind = "", title, disabled = false, done } = {}) {
  const pressed = async (event) => {
    const button = event.currentTarget;
    if (button.getAttribute("aria-busy") === "true") return;
    button.setAttribute("aria-busy", "true");
    try {
      const answer = await act();
      const text = typeof done === "function" ? done(answer) : done;
      if (text) say(text);
    } catch (error) {
      say(told(error), "error");
    } finally {
      button.removeAttribute("aria-busy");
    }
  };
  return h(
    "button",
    { type: "button", class: kind, title, "aria-label": title, disabled, onclick: pressed },
    label,
  );
}

export function told(error) {
  if (!(error instanceof Problem)) return String(error);
  const [first] = error.problems;
  return first?.hint ? `${error.message} – ${first.hint}` : error.message;
}

export function pipelineActions(pipeline, changed, { dropped = changed, kind = "" } = {}) {
  const { name, actual, desired } = pipeline;
  const runs = actual === "running" || actual === "starting" || desired === "running";
  const to = (verb, done) => async () => {
    await post(`${at("pipelines", name)}/${verb}`);
    await changed();
    return done;
  };
  return h(
    "span",
    { class: "actions" },
    !runs && action("Start", to("start"), { kind, title: `Start ${name}`, done: `${name} runs` }),
    runs && action("Stop", to("stop"), { title: `Stop ${name}`, done: `${name} has stopped` }),
    runs &&
      action("Restart", to("restart"), { title: `Restart ${name}`, done: `${name} runs again` }),
    !runs && drop("pipelines", name, dropped),
  );
}

export function drop(kind, name, dropped) {
  const act = async () => {
    if (
      !(await confirmed(
        `Drop ${name}?`,
        "Its declaration and its state are forgotten. What it has written stays.",
        "Drop",
      ))
    )
      return null;
    await remove(at(kind, name));
    await dropped();
    return `${name} is dropped`;
  };
  return action("Drop", act, { kind: "quiet", title: `Drop ${name}`, done: (text) => text });
}

export function confirmed(title, text, verb) {
  return new Promise((resolve) => {
    const dialog = h(
      "dialog",
      { "aria-labelledby": "confirm-title" },
      h(
        "form",
        { method: "dialog" },
        h("h2", { id: "confirm-title" }, title),
        h("p", {}, text),
        h(
          "div",
          { class: "actions" },
          h("button", { value: "yes", class: "primary" }, verb),
          h("button", { value: "no" }, "Cancel"),
        ),
      ),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

export const panel = (title, body, { key, aside, wide = false } = {}) =>
  h(
    "section",
    { class: wide ? "panel wide" : "panel", "data-key": key },
    h("div", { class: "head" }, h("h2", {}, title), aside),
    body,
  );

// What to do when a look fails: a service that does not answer for a while leaves the page as it is.
export const failing = (main) => (error) => {
  if (error.status !== 0 || main.children.length === 0) show(main, trouble(error));
};

export function trouble(error) {
  return h("div", { class: "trouble", role: "alert" }, told(error));
}
