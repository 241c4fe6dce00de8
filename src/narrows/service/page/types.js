// Types as the service writes them, taken apart: STRUCT<a: BIGINT, b: ARRAY<STRING>>.

// { text, fields: [{ name, type }] } of a struct, { text, of } of a list or map, { text } of a leaf.
export function parseType(text) {
  const trimmed = text.trim();
  const [, kind, body] = /^(STRUCT|ARRAY|MAP)<([\s\S]*)>$/i.exec(trimmed) ?? [];
  switch (kind?.toUpperCase()) {
    case "STRUCT":
      return { text: "struct", fields: parts(body).map(field) };
    case "ARRAY": {
      const of = parseType(body);
      return { text: `${of.text}[]`, of };
    }
    case "MAP": {
      const of = parseType(parts(body)[1] ?? "");
      return { text: `map of ${of.text}`, of };
    }
    default:
      return { text: trimmed.toLowerCase() };
  }
}

export const rowType = (columns) => ({
  text: "row",
  fields: columns.map(({ name, type }) => ({ name, type: parseType(type) })),
});

// An element of a list, a value of a map.
export const inside = (type) => type.of ?? null;

// The fields that an arrow may lead to: of a struct, or of all structs in a list.
export function fieldsOf(type) {
  if (type.fields) return type.fields;
  return type.of && type.text.endsWith("[]") ? fieldsOf(type.of) : [];
}

function field(text) {
  const [, quoted, plain, type] =
    /^\s*(?:`((?:[^`]|``)*)`|([^\s:]+))\s*:?\s*([\s\S]*)$/.exec(text) ?? [];
  return { name: quoted?.replaceAll("``", "`") ?? plain ?? "", type: parseType(type ?? "") };
}

// Parts between commas that are in no brackets and no quotes.
function parts(text) {
  const found = [];
  let [depth, quoted, start] = [0, false, 0];
  for (let n = 0; n < text.length; n += 1) {
    const c = text[n];
    if (c === "`") quoted = !quoted;
    else if (!quoted && (c === "<" || c === "(")) depth += 1;
    else if (!quoted && (c === ">" || c === ")")) depth -= 1;
    else if (!quoted && depth === 0 && c === ",") {
      found.push(text.slice(start, n));
      start = n + 1;
    }
  }
  found.push(text.slice(start));
  return found;
}
