// The service, asked by HTTP. A token, where one is wanted, lives as long as the tab.

import { h } from "./dom.js";

const KEY = "narrows-token";

export class Problem extends Error {
  constructor(status, body) {
    super(body.detail ?? `the service answered ${status}`);
    this.status = status;
    this.code = body.code ?? "unknown";
    this.problems = body.problems ?? [];
    this.executed = body.executed ?? null;
  }
}

async function sent(path, options = {}) {
  for (;;) {
    const headers = { ...options.headers };
    const token = sessionStorage.getItem(KEY);
    if (token) headers.Authorization = `Bearer ${token}`;
    let answer;
    try {
      answer = await fetch(path, { ...options, headers, cache: "no-store" });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Problem(0, { detail: "the service does not answer", code: "unreachable" });
    }
    if (answer.status !== 401) return answer;
    await login(token !== null);
  }
}

async function ask(method, path, body, signal) {
  const options = { method, signal };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers = { "Content-Type": "application/json" };
  }
  const answer = await sent(path, options);
  const text = await answer.text();
  let found = null;
  try {
    found = text ? JSON.parse(text) : null;
  } catch {
    found = { detail: text.slice(0, 500) };
  }
  if (!answer.ok) throw new Problem(answer.status, found ?? {});
  return found;
}

export const get = (path, signal) => ask("GET", path, undefined, signal);
export const post = (path, body = {}, signal) => ask("POST", path, body, signal);
export const remove = (path) => ask("DELETE", path);
export const at = (...parts) => parts.map(encodeURIComponent).join("/");

// All of a long list.
export async function all(path, signal) {
  const items = [];
  for (;;) {
    const join = path.includes("?") ? "&" : "?";
    const page = await get(`${path}${join}offset=${items.length}&limit=1000`, signal);
    items.push(...page.items);
    if (items.length >= page.total || page.items.length === 0) return items;
  }
}

// Is Spark up? 503 is an answer, too.
export async function readiness() {
  const answer = await sent("ready");
  return answer.json();
}

// --- as it happens --------------------------------------------------------------------------------

const visible = () =>
  document.hidden
    ? new Promise((resolve) =>
        document.addEventListener("visibilitychange", resolve, { once: true }),
      ).then(visible)
    : Promise.resolve();

const pause = (milliseconds, signal) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => (clearTimeout(timer), resolve()), { once: true });
  });

// Looks again and again, until the signal; not while nobody sees the tab.
export async function poll(look, milliseconds, signal, failed) {
  while (!signal.aborted) {
    try {
      await look();
    } catch (error) {
      if (signal.aborted) return;
      failed(error);
    }
    await pause(milliseconds, signal);
    await visible();
  }
}

// Server-sent events, asked for again where they end. Not `EventSource`: it cannot send a token.
export async function events(path, signal, taken, failed, begun = () => {}) {
  for (let tries = 0; !signal.aborted; tries += 1) {
    await visible();
    const reading = new AbortController();
    const end = () => reading.abort();
    const hidden = () => document.hidden && end();
    signal.addEventListener("abort", end, { once: true });
    document.addEventListener("visibilitychange", hidden);
    try {
      const answer = await sent(path, { signal: reading.signal });
      if (!answer.ok) throw new Problem(answer.status, await answer.json());
      tries = 0;
      begun();
      await read(answer.body, taken);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Problem && error.status >= 400 && error.status < 500)
        return failed(error);
    } finally {
      signal.removeEventListener("abort", end);
      document.removeEventListener("visibilitychange", hidden);
    }
    await pause(Math.min(1000 * 2 ** tries, 15000), signal);
  }
}

async function read(body, taken) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const lines = block.split("\n");
      const field = (name) =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const data = field("data");
      if (data !== undefined) taken(field("event") ?? "message", JSON.parse(data));
    }
  }
}

// --- the token ------------------------------------------------------------------------------------

let asking = null;

function login(wrong) {
  asking ??= new Promise((resolve) => {
    const input = h("input", {
      type: "password",
      id: "token",
      autocomplete: "current-password",
      required: true,
    });
    const given = (event) => {
      event.preventDefault();
      sessionStorage.setItem(KEY, input.value);
      dialog.close();
    };
    const dialog = h(
      "dialog",
      { class: "login", "aria-labelledby": "login-title" },
      h(
        "form",
        { onsubmit: given },
        h("h2", { id: "login-title" }, "This service wants a token"),
        h(
          "p",
          {},
          "It is what NARROWS_TOKEN was when the service was started. It is kept until this tab is closed.",
        ),
        wrong && h("p", { class: "wrong", role: "alert" }, "That was not the token."),
        h("label", { for: "token" }, "Token"),
        input,
        h("button", { class: "primary" }, "Continue"),
      ),
    );
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    dialog.addEventListener("close", () => {
      dialog.remove();
      asking = null;
      resolve();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
  return asking;
}
