// Worlds: the servers, each with its tools, tables and dependency graph.
import { filesOf, get } from "./api.js";
import { go, here, link } from "./address.js";
import { behind, chip, count, h, put, narrow } from "./dom.js";
import { graph } from "./graph.js";
import { rowTable } from "./rows.js";
import { parameters } from "./schema.js";

const TABS = ["tools", "tables", "graph"];
let list, detail, shown, search;

export function mount(main) {
  search = h("input", { type: "search", placeholder: "server  ( / )", "aria-label": "Search servers" });
  list = h("nav", { class: "rows", "aria-label": "Servers" });
  detail = h("section", { class: "detail", "aria-label": "The server" });
  shown = "";
  search.addEventListener("input", filter);
  put(main, h("h1", { class: "unseen" }, "Worlds"),
    h("div", { class: "split narrow" }, h("section", { class: "list", "aria-label": "Servers" }, h("div", { class: "controls" }, search), list), detail));
  list.servers = null;
}

export async function update(query) {
  narrow(detail.parentElement, Boolean(query.server || query.graph));
  await servers(query);
  const key = JSON.stringify(query);
  if (key === shown) return;
  shown = key;
  if (query.graph) return put(detail, await fromFile(query));
  if (!query.server) return put(detail, h("p", { class: "empty" }, "Choose a server."));
  const drawn = await draw(query);
  if (shown === key) put(detail, drawn);
}

async function servers(query) {
  if (!list.servers) {
    const [all, graphs] = await Promise.all([get("/api/servers"), filesOf("graph")]);
    list.servers = all;
    put(list,
      all.map((each) => h("a", { href: link("/worlds", { server: each.name }), "data-name": each.name },
        h("span", { class: "top" }, h("b", {}, each.name), h("span", { class: "meta" }, count(each.tools, "tool"))),
        h("span", { class: "meta" }, `${each.title} · ${each.tools - each.writes} read, ${each.writes} write · ${count(each.tables, "table")}`))),
      graphs.map((f) => h("a", { href: link("/worlds", { graph: f.name }), "data-name": f.name },
        h("span", { class: "top" }, h("b", {}, f.name)), h("span", { class: "meta" }, "graph with the bridges between servers"))));
  }
  for (const a of list.querySelectorAll("a")) {
    if (a.dataset.name === (query.server ?? query.graph)) a.setAttribute("aria-current", "true");
    else a.removeAttribute("aria-current");
  }
}

function filter() {
  for (const a of list.querySelectorAll("a")) a.hidden = !a.textContent.toLowerCase().includes(search.value.toLowerCase());
}

export function key(event) {
  const by = { j: 1, k: -1 }[event.key];
  if (!by) return;
  const all = [...list.querySelectorAll("a:not([hidden])")];
  const at = all.findIndex((a) => a.hasAttribute("aria-current"));
  const next = all[at < 0 ? 0 : at + by];
  if (next) { next.focus(); go(next.getAttribute("href")); }
}

async function draw(query) {
  const tab = TABS.includes(query.tab) ? query.tab : "tools";
  const seed = query.seed ?? "0";
  const told = await get("/api/server", { name: query.server, seed });
  const body = { tools: () => tools(told, query), tables: () => tables(told, query, seed), graph: () => drawGraph(query) }[tab];
  return [
    h("header", { class: "head" },
      h("a", { class: "back", href: link("/worlds") }, "‹ Worlds"),
      h("h2", {}, told.name, " ", h("span", { class: "note" }, told.title)),
      h("p", { class: "note" }, `The assistant works for ${told.user.name}; it is ${told.start}.`),
      h("div", { class: "chips" },
        h("label", { class: "inline" }, "world, by its seed ", h("input", { id: "seed", class: "seed", inputmode: "numeric", value: seed, "aria-label": "Seed of the world", onchange: (e) => go(here({ seed: e.target.value })) })),
        h("a", { class: "chip go", href: link("/play", { servers: told.name, seed }) }, "play"))),
    h("nav", { class: "tabs", "aria-label": "Parts of the server" }, TABS.map((name) =>
      h("a", { id: `tab-${name}`, href: link("/worlds", { server: query.server, seed: query.seed, tab: name }), "aria-current": name === tab ? "true" : null }, { tools: `tools (${told.tools})`, tables: `tables (${told.tables})`, graph: "graph" }[name]))),
    await body(),
  ];
}

function tools(told, query) {
  return told.tool_list.map((t) => h("details", { class: "toolbox", open: query.tool === t.name },
    h("summary", {}, h("b", {}, t.name), " ", chip(t.effect, t.effect), " ", h("span", { class: "note" }, t.description)),
    parameters(t.parameters),
    t.refuses.length ? h("p", { class: "chips" }, h("span", { class: "note" }, "refuses "), t.refuses.map((code) => chip(code))) : null,
    t.phrases.length ? behind("how people ask for it", h("ul", {}, t.phrases.map((p) => h("li", {}, p)))) : null,
    behind("JSON Schema", h("pre", {}, JSON.stringify(t.parameters, null, 2))),
    h("p", {}, h("a", { href: link("/play", { servers: told.name, seed: query.seed, tool: t.name }) }, "call it"))));
}

function tables(told, query, seed) {
  const chosen = told.table_list.find((t) => t.name === query.table) ?? told.table_list[0];
  if (!chosen) return h("p", { class: "note" }, "Its tables lie outside.");
  const ask = (offset, q) => get("/api/rows", { server: told.name, seed, table: chosen.name, offset, q });
  return [
    h("nav", { class: "chips", "aria-label": "Tables" }, told.table_list.map((t) => h("a", { id: `table-${t.name}`, class: "chip", href: here({ table: t.name }), "aria-current": t === chosen ? "true" : null }, `${t.name.split(".")[1]} ${t.rows}`))),
    rowTable(chosen.name, ask),
  ];
}

async function drawGraph(query) {
  const told = await get("/api/graph", { server: query.server });
  return graph(told, query.tool ?? "", query.edge ?? "", (tool, edge) => go(here({ tool, edge })));
}

async function fromFile(query) {
  const told = await get("/api/graph", { file: query.graph });
  return [
    h("header", { class: "head" }, h("a", { class: "back", href: link("/worlds") }, "‹ Worlds"), h("h2", {}, query.graph)),
    graph(told, query.tool ?? "", query.edge ?? "", (tool, edge) => go(here({ tool, edge }))),
  ];
}
