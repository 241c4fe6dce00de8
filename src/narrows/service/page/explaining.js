// Which part of a text is explained, and where in it something is wrong.

import { statements } from "./sql.js";

const DECLARES = new Set(["CREATE", "DROP", "SET"]);

// A query or pipeline: what can be planned.
export function isPlanned({ verb, object }) {
  if (verb === "EXPLAIN") return !["SHARED", "ANALYZE"].includes(object);
  return (
    ["SELECT", "WITH", "VALUES", "("].includes(verb) || (verb === "CREATE" && object === "PIPELINE")
  );
}

// The one at the cursor, or else the last one.
export function plannedAt(text, cursor) {
  const found = statements(text).filter(isPlanned);
  return (
    found.find(({ start, end }) => start <= cursor && cursor <= end + 1) ?? found.at(-1) ?? null
  );
}

// What to send: declarations and that statement. All others are blanked out, so that places in the
// text stay what they are.
export function explainable(text, cursor) {
  const planned = plannedAt(text, cursor);
  let sent = "";
  let at = 0;
  for (const statement of statements(text)) {
    const { start, end, verb } = statement;
    const taken = isPlanned(statement) ? start === planned.start : DECLARES.has(verb);
    sent +=
      text.slice(at, start) + (taken ? text.slice(start, end) : blank(text.slice(start, end)));
    at = end;
    if (!taken && text[at] === ";") {
      sent += " ";
      at += 1;
    }
  }
  return { sql: sent + text.slice(at), planned };
}

const blank = (text) => text.replace(/[^\n]/gu, " ");

// Problems with their places in the units of the text area: the service counts characters.
export function placed(text, problems) {
  const units = (characters) => {
    let found = 0;
    for (const character of text) {
      if (characters <= 0) break;
      characters -= 1;
      found += character.length;
    }
    return found;
  };
  return problems
    .filter(({ span }) => span)
    .map(({ message, hint, code, span }) => {
      const start = Math.min(units(span.start), Math.max(0, text.length - 1));
      const end = Math.max(start + 1, units(span.end));
      const [, suggestion] = /did you mean `([^`]+)`\?/.exec(hint ?? "") ?? [];
      return { start, end, line: span.line, column: span.column, message, hint, code, suggestion };
    });
}
