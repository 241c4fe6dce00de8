// Numbers for people.

export function count(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (Math.abs(value) < 10 && value % 1) return value.toFixed(1);
  if (Math.abs(value) < 10000) return Math.round(value).toLocaleString("en");
  for (const [size, unit] of [
    [1e12, "T"],
    [1e9, "G"],
    [1e6, "M"],
    [1e3, "k"],
  ]) {
    if (Math.abs(value) >= size)
      return `${(value / size).toFixed(value / size < 100 ? 1 : 0)}${unit}`;
  }
}

export function bytes(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let size = value;
  let unit = 0;
  for (; Math.abs(size) >= 1000 && unit < units.length - 1; unit += 1) size /= 1000;
  return `${size.toFixed(unit && size < 100 ? 1 : 0)} ${units[unit]}`;
}

export function seconds(value) {
  if (value === null || value === undefined) return "–";
  if (value < 1) return `${Math.round(value * 1000)} ms`;
  if (value < 60) return `${value.toFixed(value < 10 ? 1 : 0)} s`;
  if (value < 3600) return `${Math.floor(value / 60)} min ${Math.floor(value % 60)} s`;
  if (value < 86400) return `${Math.floor(value / 3600)} h ${Math.floor((value % 3600) / 60)} min`;
  return `${Math.floor(value / 86400)} d ${Math.floor((value % 86400) / 3600)} h`;
}

export const percent = (part, whole) =>
  whole > 0
    ? `${((100 * part) / whole).toFixed(part / whole > 0.995 && part < whole ? 1 : 0)} %`
    : "–";

// `{"bytes": 12000, "units": 3}` -> `12 kB`: what is told best.
export function lag(by) {
  if (!by || Object.keys(by).length === 0) return "–";
  if ("payloads" in by) return count(by.payloads);
  if ("bytes" in by) return bytes(by.bytes);
  const [[unit, value]] = Object.entries(by);
  const words = { units: "files", entries: "entries" };
  return `${count(value)} ${words[unit] ?? unit}`;
}

export function value(any) {
  if (any === null || any === undefined) return "NULL";
  return typeof any === "object" ? JSON.stringify(any) : String(any);
}
