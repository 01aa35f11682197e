// A list of records beside the one that is looked at: files, filters, search, order, pages.
import { filesOf, get } from "./api.js";
import { go, here } from "./address.js";
import { behind, count, h, human, put } from "./dom.js";

const PAGE = 100;
const BUSY_MS = 600;
const IDLE_MS = 4000;

/**
 * A list. `maker` is the command that writes its files, `kinds` are the files it lists, `path` where it asks, `row` draws one, `names` has words
 * for values of filters, and `extra(query)` gives further controls. `own` names the parameters that
 * it asks with.
 */
export function listing({ label, maker, kinds, path, row, names = {}, extra, own }) {
  const controls = h("div", { class: "controls" });
  const rows = h("nav", { class: "rows", "aria-label": label });
  const foot = h("div", { class: "foot" });
  const element = h("section", { class: "list", "aria-label": `${label}: filters and list` }, controls, rows, foot);
  let asked = "";
  let answered = "";
  let timer = 0;
  let files = [];
  let looked = 0;

  async function update(query) {
    if (Date.now() - looked > IDLE_MS) {
      files = await filesOf(...kinds);
      looked = Date.now();
    }
    if (!files.length) {
      put(rows, h("p", { class: "empty" }, `There are no ${label.toLowerCase()} in this folder. ${maker} writes some.`));
      return null;
    }
    if (!query.file || !files.some((f) => f.name === query.file)) {
      go(here({ file: files[0].name, id: query.file ? "" : query.id }), true);
      return null;
    }
    const params = Object.fromEntries(["file", "q", "order", "offset", "against", ...own].map((k) => [k, query[k]]));
    const key = JSON.stringify(params);
    if (key !== asked) {
      asked = key;
      answered = "";
      await ask(key, params, files, query);
    }
    mark(query.id);
    return query.id;
  }

  async function ask(key, params, files, query) {
    clearTimeout(timer);
    if (!answered) rows.setAttribute("aria-busy", "true");
    const found = await get(path, params);
    if (key !== asked) return;
    rows.removeAttribute("aria-busy");
    const { done, total, error } = found.progress;
    if (JSON.stringify(found) !== answered) {
      answered = JSON.stringify(found);
      draw(found, files, params);
    }
    const busy = done < total && !error;
    timer = setTimeout(() => document.hidden || ask(key, params, files, query).catch(() => {}), busy ? BUSY_MS : IDLE_MS);
  }

  function draw(found, files, params) {
    if (!controls.contains(document.activeElement)) put(controls, tools(found, files, params));
    put(rows, found.rows.map((r) => h("a", { href: here({ id: r.id, besideid: "", at: "" }), "data-id": r.id }, row(r, params))),
      found.rows.length ? null : h("p", { class: "empty" }, found.progress.done < found.progress.total ? "Indexing…" : "Nothing fits."));
    mark(new URLSearchParams(location.search).get("id"));
    put(foot, pages(found, params), progress(found.progress));
  }

  function tools(found, files, params) {
    return [
      choice("File", "file", files.map((f) => [f.name, f.name]), params.file, { id: "", offset: "" }, true),
      h("input", {
        type: "search", placeholder: "id or words of the user  ( / )", "aria-label": "Search", value: params.q ?? "",
        onchange: (e) => go(here({ q: e.target.value, offset: "" })),
      }),
      extra ? extra(params, files) : null,
      choice("Order", "order", found.orders.filter((o) => params.against || !o.endsWith("most")).map((o) => [o, o === "file" ? "file order" : o]), params.order ?? "file"),
      own.filter((name) => params[name] || Object.keys(found.facets[name]).length > 1).map((name) => facet(name, found.facets[name], params[name])),
    ];
  }

  function facet(name, counts, chosen) {
    const values = Object.entries(counts);
    if (values.every(([v]) => /^\d+$/.test(v))) values.sort((a, b) => a[0] - b[0]);
    if (chosen !== undefined && !(chosen in counts)) values.push([chosen, 0]);
    const options = values.map(([v, n]) => [v, `${names[name]?.[v] ?? human(v || "not told")} (${n.toLocaleString("en")})`]);
    return choice(human(name), name, [[null, "any"], ...options], chosen ?? null);
  }

  function choice(label, name, options, chosen, also = { offset: "" }, whole = false) {
    const change = (e) => go(here({ ...also, [name]: options[e.target.selectedIndex][0] }));
    return h("label", { class: whole ? "whole" : null }, h("span", {}, label),
      h("select", { class: chosen !== null && chosen !== undefined && name !== "file" && name !== "order" ? "set" : null, onchange: change },
        options.map(([v, text]) => h("option", { selected: v === chosen }, text))));
  }

  function pages(found, params) {
    const start = Number(params.offset ?? 0);
    const end = start + found.rows.length;
    const text = found.total > found.rows.length ? `${(start + 1).toLocaleString("en")}–${end.toLocaleString("en")} of ${found.total.toLocaleString("en")}` : count(found.total, "row");
    return h("span", { class: "pages" },
      start > 0 ? h("a", { href: here({ offset: start > PAGE ? start - PAGE : "" }) }, "‹ before") : null,
      h("span", {}, text),
      end < found.total ? h("a", { href: here({ offset: end }) }, "next ›") : null);
  }

  function progress({ done, total, error, broken, first }) {
    return [
      error ? h("span", { class: "bad" }, ` · ${error}`) : done < total ? ` · indexing ${Math.floor((100 * done) / total)} %` : null,
      broken ? behind(h("span", { class: "bad" }, `${count(broken, "line")} cannot be read`), h("p", {}, `The first, ${first}`)) : null,
    ];
  }

  function mark(id) {
    for (const a of rows.querySelectorAll("a")) {
      const here = a.dataset.id === id;
      if (here && a.getAttribute("aria-current") !== "true") a.scrollIntoView({ block: "nearest" });
      if (here) a.setAttribute("aria-current", "true");
      else a.removeAttribute("aria-current");
    }
  }

  /** Go `by` rows on. */
  function step(by) {
    const all = [...rows.querySelectorAll("a")];
    const at = all.findIndex((a) => a.hasAttribute("aria-current"));
    const next = all[at < 0 ? 0 : at + by];
    if (next) {
      next.focus({ preventScroll: true });
      go(next.getAttribute("href"));
    }
  }

  return { element, update, step, stop: () => clearTimeout(timer) };
}
