// What may come next: keywords, relations, columns, and fields however deep they are.
//
//   complete("SELECT b-> FROM s", 10, relations)  ->  { from: 10, to: 10, items: [{ label: "c", detail: "STRING" }] }
//
// relations: [{ name, kind: "stream" | "table" | "sink" | "pipeline", columns: [{ name, type }] }]

import { KEYWORDS, tokens } from "./sql.js";
import { fieldsOf, inside, rowType } from "./types.js";

const SOURCES = new Set(["FROM", "JOIN"]);
const MOST = 60;

export function complete(text, cursor, relations, asked = false) {
  const all = tokens(text);
  const [first, last] = statementAround(all, cursor);
  const whole = all.slice(first, last).filter(({ kind }) => kind !== "space" && kind !== "comment");
  const inToken = all.find(
    ({ start, end, kind }) => start < cursor && cursor <= end && kind !== "space" && kind !== "op",
  );
  if (inToken && ["string", "comment", "number"].includes(inToken.kind)) return null;
  const from = inToken ? inToken.start : cursor;
  const prefix = text.slice(from, cursor).replace(/^`/, "");
  const before = whole.filter(({ end }) => end <= from);
  const sources = sourcesOf(whole, relations);
  const previous = before.at(-1);
  let items;
  if (previous && (previous.text === "->" || previous.text === ".")) {
    const type = typeBefore(before, before.length - 1, sources);
    items = type
      ? fieldsOf(type).map(({ name, type: own }) => ({
          label: name,
          insert: quoted(name, false),
          detail: own.text,
          kind: "field",
        }))
      : [];
  } else {
    if (!asked && prefix.length < 2) return null;
    items = anything(before, sources, relations);
  }
  const wanted = prefix.toLowerCase();
  const fitting = items
    .filter(({ label }) => label.toLowerCase().includes(wanted) && label !== prefix)
    .sort((a, b) => starts(b, wanted) - starts(a, wanted))
    .slice(0, MOST);
  return fitting.length ? { from, to: cursor, items: fitting } : null;
}

const starts = ({ label }, wanted) => Number(label.toLowerCase().startsWith(wanted));

function anything(before, sources, relations) {
  const word = before.at(-1)?.text.toUpperCase();
  const named = (...kinds) =>
    relations
      .filter(({ kind }) => kinds.includes(kind))
      .map(({ name, kind }) => ({
        label: name,
        insert: quoted(name),
        detail: kind,
        kind: "relation",
      }));
  if (SOURCES.has(word)) return named("stream", "table");
  if (word === "INTO") return named("sink");
  if (word === "PIPELINE") return named("pipeline");
  if (word === "STREAM" || word === "TABLE" || word === "SINK") return named(word.toLowerCase());
  if (word === "DESCRIBE") return named("stream", "table", "sink", "pipeline");
  const columns = sources.flatMap(({ alias, type }) =>
    fieldsOf(type).map(({ name, type: own }) => ({
      label: name,
      insert: quoted(name),
      detail: `${own.text} · ${alias}`,
      kind: "column",
    })),
  );
  const aliases = sources.map(({ alias, name }) => ({
    label: alias,
    insert: quoted(alias),
    detail: name === alias ? "relation" : name,
    kind: "relation",
  }));
  const words = [...KEYWORDS].map((keyword) => ({
    label: keyword,
    insert: keyword,
    detail: "",
    kind: "keyword",
  }));
  return [...columns, ...aliases, ...words];
}

function statementAround(all, cursor) {
  let first = 0;
  for (let n = 0; n < all.length; n += 1) {
    if (all[n].text !== ";") continue;
    if (all[n].end > cursor) return [first, n];
    first = n + 1;
  }
  return [first, all.length];
}

// The relations that a statement reads, by what it calls them.
function sourcesOf(list, relations) {
  const found = [];
  const known = new Map(
    relations
      .filter(({ columns }) => columns)
      .map((relation) => [relation.name.toLowerCase(), relation]),
  );
  const name = (n) =>
    list[n] && ["word", "quoted"].includes(list[n].kind) ? plain(list[n].text) : null;
  for (let n = 0; n < list.length; n += 1) {
    const reads =
      SOURCES.has(list[n].text.toUpperCase()) || (list[n].text === "," && found.at(-1)?.ends === n);
    const relation = reads ? known.get(name(n + 1)?.toLowerCase()) : null;
    if (!relation) continue;
    const as = list[n + 2]?.text.toUpperCase() === "AS" ? n + 3 : n + 2;
    const alias = name(as);
    found.push({
      alias: alias ?? relation.name,
      name: relation.name,
      type: rowType(relation.columns),
      ends: alias ? as + 1 : n + 2,
    });
  }
  return found;
}

// The type of what stands before the arrow or dot at `end`.
function typeBefore(list, end, sources) {
  const path = [];
  let n = end;
  while (n > 0 && (list[n].text === "->" || list[n].text === ".")) {
    n -= 1;
    let indexed = 0;
    while (list[n]?.text === "]") {
      while (n >= 0 && list[n].text !== "[") n -= 1;
      n -= 1;
      indexed += 1;
    }
    if (!list[n] || !["word", "quoted", "keyword", "type"].includes(list[n].kind)) return null;
    path.unshift({ name: plain(list[n].text), indexed, at: n });
    n -= 1;
  }
  // `x -> x->a`: the first arrow is that of a lambda.
  return (
    resolve(path, list, sources) ?? (path.length > 1 ? resolve(path.slice(1), list, sources) : null)
  );
}

function resolve([root, ...rest], list, sources) {
  let type = rootType(root, list, sources);
  for (let depth = root.indexed; type && depth > 0; depth -= 1) type = inside(type);
  for (const step of rest) {
    type =
      type &&
      fieldsOf(type).find(({ name }) => name.toLowerCase() === step.name.toLowerCase())?.type;
    for (let depth = step.indexed; type && depth > 0; depth -= 1) type = inside(type);
  }
  return type ?? null;
}

function rootType({ name, at }, list, sources) {
  const same = (other) => other.toLowerCase() === name.toLowerCase();
  const relation = sources.find(({ alias }) => same(alias));
  if (relation) return relation.type;
  for (const { type } of sources) {
    const column = fieldsOf(type).find((field) => same(field.name));
    if (column) return column.type;
  }
  return lambdaType(name, at, list, sources);
}

// `transform(faults, f -> f->code)`: what `f` is, is an element of `faults`.
function lambdaType(name, at, list, sources) {
  for (let n = at; n > 2; n -= 1) {
    if (plain(list[n].text) !== name || list[n + 1]?.text !== "->" || list[n - 1].text !== ",")
      continue;
    const first = list[n - 2];
    const list_ = [...list.slice(0, n - 1), { kind: "op", text: "->" }];
    const type =
      first &&
      typeBefore(
        list_,
        n - 1,
        sources.filter(({ alias }) => alias !== name),
      );
    return type ? inside(type) : null;
  }
  return null;
}

const plain = (text) =>
  text.startsWith("`")
    ? text.slice(1, text.endsWith("`") && text.length > 1 ? -1 : undefined).replaceAll("``", "`")
    : text;

function quoted(name, reserved = true) {
  const simple =
    /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !(reserved && KEYWORDS.has(name.toUpperCase()));
  return simple ? name : `\`${name.replaceAll("`", "``")}\``;
}
