// Elements without markup: texts become text nodes, whoever wrote them.
//
//   h("button", { class: "primary", onclick: save }, "Save")
//
// A view draws itself anew whenever something comes in, and `show` changes the page only where the
// drawing differs: focus, selection and scroll positions stay where they are.

const SVG = "http://www.w3.org/2000/svg";

export function h(tag, props, ...children) {
  return made(document.createElement(tag), props, children);
}

export function s(tag, props, ...children) {
  return made(document.createElementNS(SVG, tag), props, children);
}

function made(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element[name] = value;
    else if (name === "value" || name === "checked") element[name] = value;
    else if (name === "vars")
      for (const [key, each] of Object.entries(value)) element.style.setProperty(key, each);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(
    ...children
      .flat(Infinity)
      .filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

// In a drawing, stands for an element that manages itself: it is put in once and then left alone.
export function kept(element) {
  const place = h("span", { "data-kept": "" });
  KEPT.set(place, element);
  return place;
}

const KEPT = new WeakMap();

// Puts the drawing into the container.
export function show(container, ...drawn) {
  const wanted = document.createElement(container.tagName);
  wanted.append(
    ...drawn
      .flat(Infinity)
      .filter((child) => child !== null && child !== undefined && child !== false),
  );
  mergeChildren(container, wanted);
}

const HANDLERS = ["onclick", "onsubmit", "oninput", "onchange", "onkeydown"];
// What the user has unfolded is the user's; a button is busy until its answer.
const OWN = new Set(["open", "aria-busy"]);

function merge(old, wanted) {
  if (old.nodeType === Node.TEXT_NODE) {
    if (old.data !== wanted.data) old.data = wanted.data;
    return;
  }
  for (const { name } of [...old.attributes]) {
    if (!wanted.hasAttribute(name) && !OWN.has(name)) old.removeAttribute(name);
  }
  for (const { name, value } of wanted.attributes) {
    if (name === "style")
      for (const key of wanted.style)
        old.style.setProperty(key, wanted.style.getPropertyValue(key));
    else if (!OWN.has(name) && old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const handler of HANDLERS) old[handler] = wanted[handler];
  mergeChildren(old, wanted);
}

function mergeChildren(old, wanted) {
  const keyed = new Map();
  for (const child of old.childNodes) if (child.dataset?.key) keyed.set(child.dataset.key, child);
  let at = old.firstChild;
  for (const next of [...wanted.childNodes]) {
    const own = KEPT.get(next);
    if (own) {
      if (own === at) at = at.nextSibling;
      else if (own.parentNode !== old || own.nextSibling !== at) old.insertBefore(own, at);
      continue;
    }
    const key = next.dataset?.key;
    const same = key ? keyed.get(key) : at && !at.dataset?.key ? at : null;
    if (same && alike(same, next)) {
      if (same === at) at = at.nextSibling;
      else old.insertBefore(same, at);
      merge(same, next);
    } else {
      for (const place of next.querySelectorAll?.("[data-kept]") ?? [])
        place.replaceWith(KEPT.get(place));
      old.insertBefore(next, at);
    }
  }
  while (at) {
    const gone = at;
    at = at.nextSibling;
    gone.remove();
  }
}

function alike(a, b) {
  return (
    a.nodeType === b.nodeType && a.nodeName === b.nodeName && a.dataset?.key === b.dataset?.key
  );
}

// Says something to everybody, also to who only listens.
export function say(text, kind = "note") {
  const region = document.getElementById("said");
  const line = h(
    "p",
    { class: kind },
    text,
    h(
      "button",
      { class: "quiet", type: "button", "aria-label": "Dismiss", onclick: () => line.remove() },
      "×",
    ),
  );
  region.append(line);
  while (region.children.length > 4) region.firstChild.remove();
  setTimeout(() => line.remove(), kind === "error" ? 15000 : 5000);
}
