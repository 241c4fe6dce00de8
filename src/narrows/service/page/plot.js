// Small plots: an area over time, one or two series, the newest value beside its name.

import { h, s } from "./dom.js";

const WIDTH = 320;
const HEIGHT = 72;

// series: [{ name, points: [[time, value]], format, muted, steps }]
export function plot(title, series) {
  const points = series.flatMap((each) => each.points).filter(([, y]) => y !== null);
  const [from, to] = bounds(points.map(([x]) => x));
  const top = Math.max(1e-9, ...points.map(([, y]) => y)) * 1.08;
  const x = (time) => (((time - from) / (to - from || 1)) * WIDTH).toFixed(1);
  const y = (value) => (HEIGHT - 1 - (value / top) * (HEIGHT - 6)).toFixed(1);
  const said = series.map((each) => `${each.name} ${last(each)}`).join(", ");
  return h(
    "figure",
    { class: "plot" },
    h(
      "figcaption",
      {},
      h("span", { class: "title" }, title),
      series.map((each) =>
        h(
          "span",
          { class: each.muted ? "legend muted" : "legend" },
          `${series.length > 1 ? `${each.name} ` : ""}${last(each)}`,
        ),
      ),
    ),
    s(
      "svg",
      {
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": `${title}: ${said}`,
      },
      s("line", { class: "base", x1: 0, x2: WIDTH, y1: HEIGHT - 0.5, y2: HEIGHT - 0.5 }),
      points.length > 1 && series.flatMap((each) => drawn(each, x, y)),
    ),
    points.length < 2 && h("p", { class: "empty" }, "nothing yet"),
    h(
      "div",
      { class: "span" },
      h("span", {}, points.length > 1 ? ago(to - from) : ""),
      h("span", {}, points.length > 1 ? "now" : ""),
    ),
  );
}

export function sparkline(points) {
  const [from, to] = bounds(points.map(([x]) => x));
  const top = Math.max(1e-9, ...points.map(([, y]) => y)) * 1.1;
  const x = (time) => (((time - from) / (to - from || 1)) * 80).toFixed(1);
  const y = (value) => (19 - (value / top) * 17).toFixed(1);
  return s(
    "svg",
    { class: "spark", viewBox: "0 0 80 20", preserveAspectRatio: "none", "aria-hidden": "true" },
    points.length > 1 && drawn({ points }, x, y),
  );
}

function drawn({ points, muted, steps }, x, y) {
  const known = points.filter(([, value]) => value !== null);
  if (known.length < 2) return [];
  const line = known.map(([time, value], n) => {
    const jump = steps && n ? `H${x(time)}V${y(value)}` : `L${x(time)},${y(value)}`;
    return n ? jump : `M${x(time)},${y(value)}`;
  });
  const [first, end] = [known[0], known.at(-1)];
  const kind = muted ? " muted" : "";
  return [
    s("path", {
      class: `area${kind}`,
      d: `${line.join("")}L${x(end[0])},${y(0)}L${x(first[0])},${y(0)}Z`,
    }),
    s("path", { class: `line${kind}`, d: line.join(""), "vector-effect": "non-scaling-stroke" }),
  ];
}

function last({ points, format }) {
  const known = points.filter(([, value]) => value !== null);
  return known.length ? format(known.at(-1)[1]) : "–";
}

function bounds(times) {
  return times.length ? [Math.min(...times), Math.max(...times)] : [0, 1];
}

const ago = (spent) =>
  spent < 90 ? `${Math.round(spent)} s ago` : `${Math.round(spent / 60)} min ago`;
