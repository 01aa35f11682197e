// Play: a session of a world, called by hand; every call can be taken back, any state forked.
import { get, post } from "./api.js";
import { go, here, link, query } from "./address.js";
import { behind, chip, count, h, human, put, say } from "./dom.js";
import { rowTable } from "./rows.js";
import { form } from "./schema.js";
import { changes, value } from "./value.js";

let box, state, examples, kept, sought;

export function mount(main) {
  box = h("div", { class: "play" });
  state = null;
  examples = 0;
  kept = {};
  sought = "";
  put(main, h("h1", { class: "unseen" }, "Play"), box);
}

export async function update(asked) {
  if (!asked.id) {
    state = null;
    return put(box, await opening(asked));
  }
  if (state?.id !== asked.id) {
    try {
      state = { id: asked.id, ...(await get(`/api/play/${encodeURIComponent(asked.id)}`)) };
    } catch (error) {
      return put(box, h("p", { class: "complaint" }, error.message), await opening({}));
    }
  }
  draw(asked);
}

export function key(event) {
  if (event.key === "u" && state?.steps.length) undo();
}

// -- opening -------------------------------------------------------------------------------------

async function opening(asked) {
  const all = await get("/api/servers");
  const wanted = new Set((asked.servers ?? "").split(",").filter(Boolean));
  const seed = h("input", { class: "seed", inputmode: "numeric", value: asked.seed ?? "0", name: "seed" });
  const boxes = all.map((each) => h("input", { type: "checkbox", value: each.name, checked: wanted.has(each.name), name: each.name }));
  const open = async (event) => {
    event.preventDefault();
    const servers = boxes.filter((b) => b.checked).map((b) => b.value);
    const { id } = await post("/api/play", { seed: seed.value, servers });
    go(link("/play", { id, tool: asked.tool }));
  };
  return h("form", { class: "opening", onsubmit: open },
    h("h2", {}, "Open a session"),
    h("p", { class: "note" }, "A private copy of a world. Call its tools, see what changes, take calls back, fork."),
    h("label", { class: "inline" }, "World ", seed),
    h("fieldset", {}, h("legend", {}, "Servers"), all.map((each, i) => h("label", {}, boxes[i], " ", each.name, h("small", {}, ` ${count(each.tools, "tool")}`)))),
    h("button", { class: "go" }, "Open"));
}

// -- a session -----------------------------------------------------------------------------------

function draw(asked) {
  const tool = state.tools.find((t) => t.name === asked.tool) ?? state.tools[0];
  const top = box.querySelector(".three .rows")?.scrollTop;
  put(box,
    h("header", { class: "head" },
      h("h2", {}, state.servers.join(", "), h("span", { class: "note" }, ` world ${state.seed}`)),
      h("p", { class: "note" }, `You act for ${state.user.name}. It is ${state.now}. State `, h("code", { title: state.digest }, state.digest.slice(0, 10))),
      h("p", { class: "buttons" },
        h("button", { id: "undo", disabled: !state.steps.length, onclick: undo }, "Undo"),
        h("button", { id: "fork", onclick: fork }, "Fork"),
        h("a", { class: "button", href: link("/play") }, "Open another"))),
    h("div", { class: "three" },
      toolList(tool), caller(tool),
      h("section", { class: "state", "aria-label": "State" },
        h("h3", {}, "Changed since the start"), changes(state.changes), tables(asked))));
  const list = box.querySelector(".three .rows");
  if (top === undefined) list.querySelector("[aria-current]").scrollIntoView({ block: "nearest" });
  else list.scrollTop = top;
}

function toolList(tool) {
  const search = h("input", { type: "search", placeholder: "tool  ( / )", "aria-label": "Search tools", value: sought });
  const links = h("nav", { class: "rows", "aria-label": "Tools" }, state.tools.map((t) =>
    h("a", { id: `tool-${t.name}`, href: here({ tool: t.name }), hidden: !t.name.includes(sought), "aria-current": t === tool ? "true" : null, title: t.description }, h("span", { class: "top" }, h("b", {}, t.name), chip(t.effect, t.effect)))));
  search.addEventListener("input", () => {
    sought = search.value.toLowerCase();
    state.tools.forEach((t, i) => { links.children[i].hidden = !t.name.includes(sought); });
  });
  return h("section", { class: "list", "aria-label": "Tools" }, search, links);
}

function caller(tool) {
  const built = form(tool.parameters);
  if (kept.tool === tool.name && kept.given && typeof kept.given === "object") built.fill(kept.given);
  const raw = h("textarea", { class: "mono", rows: 4, "aria-label": "Arguments as JSON", placeholder: "{…}" });
  const call = (read) => async (event) => {
    event.preventDefault();
    const given = read();
    kept = { tool: tool.name, given };
    await act("/call", { name: tool.name, arguments: given });
    box.querySelector(".caller .go").focus();
    say(`${tool.name}: ${state.steps.at(-1).outcome}`);
  };
  const example = async () => built.fill(await get(`/api/play/${encodeURIComponent(state.id)}/example`, { name: tool.name, number: examples++ }));
  return h("section", { class: "caller", "aria-label": "Call a tool" },
    h("h3", {}, tool.name, " ", chip(tool.effect, tool.effect)),
    h("p", { class: "note" }, tool.description),
    h("form", { onsubmit: call(built.read) }, built.element,
      h("p", { class: "buttons" }, h("button", { class: "go" }, "Call"), h("button", { type: "button", onclick: example }, "Fill in an example"))),
    behind("or as JSON", h("form", { onsubmit: call(() => parsed(raw.value)) }, raw, h("button", {}, "Call with this"))),
    h("h3", {}, count(state.steps.length, "call")),
    h("ol", { class: "steps", reversed: true }, state.steps.toReversed().map((step, i) => stepCard(step, state.steps.length - 1 - i, i === 0))));
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return text; // a policy may say anything, too
  }
}

function stepCard(step, number, last) {
  const text = step.arguments && typeof step.arguments === "object" ? Object.entries(step.arguments).map(([k, v]) => `${k}: ${typeof v === "string" ? v : JSON.stringify(v)}`).join(", ") : String(step.arguments);
  return h("li", {}, h("article", { class: `call ${step.outcome === "ok" ? "right" : "wrong"}` },
    h("header", {}, h("code", { class: "id" }, `#${number}`), h("b", { class: "tool" }, step.name), chip(human(step.outcome), step.outcome === "ok" ? "good" : "bad")),
    text ? h("p", { class: "note" }, text) : null,
    last ? value(step.result) : behind("result", value(step.result)),
    step.changes.length ? h("div", { class: "changed" }, changes(step.changes)) : null));
}

function tables(asked) {
  const chosen = state.tables.find((t) => t.name === asked.table);
  const marked = new Set(state.changes.map((c) => c.row));
  const touched = new Set(state.changes.map((c) => c.table));
  const ask = (offset, q) => get(`/api/play/${encodeURIComponent(state.id)}/rows`, { table: chosen.name, offset, q });
  return [
    h("h3", {}, "Tables"),
    h("nav", { class: "chips", "aria-label": "Tables" }, state.tables.map((t) => h("a", { id: `table-${t.name}`, class: `chip ${touched.has(t.name) ? "warn" : ""}`, href: here({ table: t === chosen ? "" : t.name }), "aria-current": t === chosen ? "true" : null }, `${t.name} ${t.rows}`))),
    chosen ? rowTable(chosen.name, ask, "", marked) : null,
  ];
}

async function act(path, body) {
  state = { id: state.id, ...(await post(`/api/play/${encodeURIComponent(state.id)}${path}`, body)) };
  draw(query());
}

async function undo() {
  await act("/undo");
  box.querySelector("#undo").focus();
  say("taken back");
}

async function fork() {
  const { id } = await post(`/api/play/${encodeURIComponent(state.id)}/fork`);
  state = { ...state, id }; // before it is shown: keys and buttons mean the copy from now on
  say("forked: this is the copy");
  go(here({ id }));
}
