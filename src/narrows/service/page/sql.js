// Our SQL for the eye: tokens, statements, colours. What it means only the service knows.

import { h } from "./dom.js";

export const KEYWORDS = new Set(
  `ALL ALTER ANALYZE AND ANTI ARRAY AS ASC BETWEEN BY CASE CAST COLUMNS COMPUTE CREATE CROSS CUBE CURRENT DELETE DESC
  DESCRIBE DISTINCT DROP ELSE END EXCEPT EXISTS EXPLAIN FALSE FILTER FIRST FOLLOWING FOR FROM FULL GROUP GROUPING
  HAVING IF ILIKE IN INNER INTERSECT INTERVAL INTO IS JOIN LAST LATERAL LEFT LIKE LIMIT LOGICAL MAP NATURAL NOT NULL
  NULLS OFFSET ON OR ORDER OUTER OVER PARTITION PHYSICAL PIPELINE PIPELINES PRECEDING PROJECTION PROJECTIONS QUALIFY
  RANGE REFRESH REPLACE RIGHT RLIKE ROLLUP ROW ROWS SELECT SEMI SET SETS SHARED SHOW SINK SINKS START STATISTICS STOP
  STREAM STREAMS STRUCT TABLE TABLES THEN TRUE UNBOUNDED UNION USING VALUES VERBOSE VIEW WHEN WHERE WINDOW WITH
  WITHIN`.split(/\s+/),
);
const TYPES = new Set(
  `BIGINT BINARY BOOLEAN BYTE DATE DECIMAL DOUBLE FLOAT INT INTEGER LONG REAL SHORT SMALLINT STRING
  TIMESTAMP TIMESTAMP_NTZ TINYINT VARCHAR VARIANT`.split(/\s+/),
);
const KINDS = {
  space: /\s+/,
  comment: /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/,
  string: /'(?:[^'\\]|\\[\s\S]|'')*(?:'|$)|"(?:[^"\\]|\\[\s\S]|"")*(?:"|$)/,
  quoted: /`(?:[^`]|``)*(?:`|$)/,
  number: /(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?\w*/,
  word: /[\p{L}_$][\p{L}\p{N}_$]*/u,
  op: /->|=>|::|<=>|<=|>=|<>|!=|\|\||[\s\S]/,
};
const TOKEN = new RegExp(
  Object.entries(KINDS)
    .map(([kind, { source }]) => `(?<${kind}>${source})`)
    .join("|"),
  "gu",
);

// [{ kind, text, start, end }], of which nothing is left out.
export function tokens(text) {
  return [...text.matchAll(TOKEN)].map((match) => {
    const kind = Object.keys(KINDS).find((each) => match.groups[each] !== undefined);
    const upper = match[0].toUpperCase();
    const shown =
      kind !== "word" ? kind : TYPES.has(upper) ? "type" : KEYWORDS.has(upper) ? "keyword" : "word";
    return { kind: shown, text: match[0], start: match.index, end: match.index + match[0].length };
  });
}

// The statements of a text: [{ start, end, verb }], each without its semicolon.
export function statements(text) {
  const found = [];
  let words = [];
  let start = 0;
  const close = (end) => {
    if (words.length)
      found.push({
        start,
        end,
        verb: words[0],
        object: words.slice(1).find((word) => !["OR", "REPLACE"].includes(word)),
      });
    words = [];
    start = end + 1;
  };
  for (const token of tokens(text)) {
    if (token.text === ";" && token.kind === "op") close(token.start);
    else if (token.kind !== "space" && token.kind !== "comment" && words.length < 6) {
      words.push(token.text.toUpperCase());
    }
  }
  close(text.length);
  return found;
}

// Highlighted, to be read.
export function sqlText(text) {
  return h("pre", { class: "sql", tabindex: "0" }, coloured(text));
}

export function coloured(text) {
  return tokens(text).map(({ kind, text: part }) =>
    kind === "space" || kind === "word" ? part : h("span", { class: `t-${kind}` }, part),
  );
}
