// A table of a world: its rows, searched and page by page.
import { h, put, table } from "./dom.js";
import { brief } from "./value.js";

const PAGE = 100;

/** The rows that `ask(offset, text)` gives, with a search; `marked` are ids that stand out. */
export function rowTable(name, ask, text = "", marked = new Set()) {
  const box = h("div", { class: "rowtable" });
  const search = h("input", { type: "search", placeholder: `search ${name}`, "aria-label": `Search ${name}`, value: text });
  let wanted = text;
  search.addEventListener("input", () => { wanted = search.value; turn(0); });

  async function turn(offset) {
    const asked = wanted;
    const told = await ask(offset, asked);
    if (asked !== wanted) return;
    const end = offset + told.rows.length;
    put(box,
      table(name, told.fields, told.rows.map((row) => told.fields.map((field) => h("span", { class: marked.has(row.id) ? "marked" : null, title: brief(row[field], 400) }, brief(row[field], 48))))),
      h("p", { class: "pages" },
        offset > 0 ? h("button", { class: "quiet", onclick: () => turn(offset - PAGE) }, "‹ before") : null,
        told.total ? `${offset + 1}–${end} of ${told.total.toLocaleString("en")}` : "no rows",
        end < told.total ? h("button", { class: "quiet", onclick: () => turn(end) }, "next ›") : null));
  }

  turn(0);
  return h("div", {}, search, box);
}
