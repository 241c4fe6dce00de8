// Dead letters: what could not be read, why, where it stood; and another try.

import { at, get, poll, post } from "./api.js";
import { h, kept, show } from "./dom.js";
import { action } from "./parts.js";

const SHOWN = 50;

// A panel that looks for itself, to be drawn once or many times. It is hidden while there are none.
export function letterPanel(name, { signal, replays }) {
  const element = h("section", {
    class: "panel letters",
    "data-key": `letters ${name}`,
    hidden: true,
  });
  const still = new Map();
  const look = async () => {
    const { items, total } = await get(`${at("dead-letters", name)}?limit=${SHOWN}`, signal);
    element.hidden = total === 0;
    show(element, drawn(items, total));
  };
  const replay = (ids) => async () => {
    const answer = await post(`${at("dead-letters", name)}/replay`, ids ? { ids } : {});
    for (const [id, reason] of Object.entries(answer.still_bad)) still.set(id, reason);
    await look();
    const bad = Object.keys(answer.still_bad).length;
    return [
      answer.replayed.length && `${answer.replayed.length} replayed`,
      bad && `${bad} still cannot be read`,
      answer.already.length && `${answer.already.length} were replayed before`,
    ]
      .filter(Boolean)
      .join(", ");
  };
  const drawn = (items, total) => [
    h(
      "div",
      { class: "head" },
      h("h2", {}, "Dead letters of ", h("code", {}, name), h("small", {}, ` ${total}`)),
      replays &&
        items.some((each) => !each.replayed) &&
        action("Replay all", replay(null), {
          title: `Replay all dead letters of ${name}`,
          done: (text) => text,
        }),
    ),
    h(
      "ul",
      {},
      items.map((letter) => one(letter)),
    ),
    total > items.length && h("p", { class: "empty" }, `and ${total - items.length} more`),
  ];
  const one = (letter) =>
    h(
      "li",
      { "data-key": letter.id, class: letter.replayed ? "replayed" : "" },
      h(
        "div",
        { class: "row" },
        h("span", { class: "reason" }, letter.reason),
        letter.replayed
          ? h("span", { class: "chip on" }, "replayed")
          : replays &&
              action("Replay", replay([letter.id]), {
                title: "Replay this letter",
                done: (text) => text,
              }),
      ),
      h(
        "span",
        { class: "muted" },
        Object.entries(letter.position)
          .map(([key, value]) => `${key} ${value}`)
          .join(", "),
      ),
      still.has(letter.id) &&
        !letter.replayed &&
        h("p", { class: "wrong" }, `still: ${still.get(letter.id)}`),
      h("pre", { tabindex: "0" }, payload(letter)),
    );
  poll(look, 4000, signal, () => {});
  return kept(element);
}

function payload({ payload: text, payload_base64: binary }) {
  if (text !== null) return text.length > 2000 ? `${text.slice(0, 2000)}…` : text;
  return binary === null ? "(no payload)" : `(binary) ${binary.slice(0, 500)}`;
}
