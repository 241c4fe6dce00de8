// Asks for a name and a sink, and makes a pipeline of a query.

import { post } from "./api.js";
import { h, show } from "./dom.js";
import { told } from "./parts.js";
import { sqlText } from "./sql.js";

const NEW = "";

// Its name, or null if the user thought better of it.
export function askPipeline(query, relations) {
  const sinks = relations.filter(({ kind }) => kind === "sink");
  const name = h("input", {
    id: "pipeline-name",
    required: true,
    autocomplete: "off",
    spellcheck: "false",
    maxlength: "200",
  });
  const sink = h(
    "select",
    { id: "pipeline-sink" },
    sinks.map((each) => h("option", { value: each.name }, each.name)),
    h("option", { value: NEW }, "a new one in memory, to look at"),
  );
  const start = h("input", { type: "checkbox", id: "pipeline-start", checked: true });
  const wrong = h("p", { class: "wrong", role: "alert" });
  const create = h("button", { class: "primary" }, "Create");
  let made = null; // a sink of an earlier try
  const newSink = async () => {
    const wanted = `${name.value}_rows`;
    if (made !== wanted) await post("sinks", { name: wanted, options: { connector: "memory" } });
    return (made = wanted);
  };
  return new Promise((resolve) => {
    const submitted = async (event) => {
      event.preventDefault();
      create.setAttribute("aria-busy", "true");
      show(wrong);
      try {
        const target = sink.value || (await newSink());
        await post("pipelines", { name: name.value, sinks: [target], query, start: start.checked });
        dialog.close(name.value);
      } catch (error) {
        show(wrong, told(error));
      } finally {
        create.removeAttribute("aria-busy");
      }
    };
    const dialog = h(
      "dialog",
      { "aria-labelledby": "new-title" },
      h(
        "form",
        { onsubmit: submitted },
        h("h2", { id: "new-title" }, "New pipeline"),
        sqlText(query),
        h("label", { for: "pipeline-name" }, "Name"),
        name,
        h("label", { for: "pipeline-sink" }, "Writes into"),
        sink,
        h("label", { class: "check" }, start, "start it now"),
        wrong,
        h(
          "div",
          { class: "actions" },
          create,
          h("button", { type: "button", onclick: () => dialog.close("") }, "Cancel"),
        ),
      ),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue || null);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}
