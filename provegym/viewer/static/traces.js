// Traces: filtered and sorted in a list; one beside its ground truth, or two policies side by side.
import { get } from "./api.js";
import { go, here, link, query } from "./address.js";
import { behind, chip, count, h, human, number, put, say, narrow } from "./dom.js";
import { bars, chat, endState, fate, jump, show } from "./episode.js";
import { truth } from "./calls.js";
import { listing } from "./list.js";

const FACETS = ["result", "failure", "policy", "server", "kind", "stop"];
const FAILURES = {
  none: "no mistake", unscored: "not scored", malformed: "a call that is no JSON", unknown_tool: "tool not offered",
  invalid_arguments: "refused by the schema", tool_error: "refused by the tool",
  unneeded: "not needed", order: "out of order", values: "another value",
  missing: "call not made", state: "another end state", masked: "our fault",
};
const GOOD = { success: "good", failed: "bad", masked: "warn" };
let list, detail, shown, sides, pointedTo;

export function mount(main) {
  list = listing({ label: "Traces", maker: "provegym rollout", kinds: ["traces", "conversations"], path: "/api/traces", row, own: FACETS, names: { failure: FAILURES }, extra: against });
  detail = h("section", { class: "detail", "aria-label": "The trace" });
  shown = pointedTo = "";
  put(main, h("h1", { class: "unseen" }, "Traces"), h("div", { class: "split" }, list.element, detail));
}

export async function update(asked) {
  narrow(detail.parentElement, Boolean(asked.id));
  const id = await list.update(asked);
  const key = JSON.stringify([asked.file, id, asked.preset, asked.beside, asked.besideid]);
  if (key === shown) return pointed(asked);
  shown = key;
  if (!id) return put(detail, h("p", { class: "empty" }, "Choose a trace, or step through them with j and k."));
  const told = await get("/api/trace", { file: asked.file, id, preset: asked.preset });
  const [other, played] = await Promise.all([beside(asked, told), get("/api/played", { task: told.trace.task_id })]);
  if (shown !== key) return;
  sides = [told, other].filter(Boolean);
  put(detail, draw(asked, told, other, played));
  detail.scrollTop = 0;
  pointed(asked);
}

/** Bring the call that the address names into sight, once. */
function pointed(asked) {
  const now = `${shown} ${asked.at ?? ""}`;
  const before = pointedTo;
  pointedTo = now;
  if (asked.at && now !== before) show(detail.querySelector(`[data-call="${CSS.escape(asked.at)}"]`));
}

/** The other episode: the one that is named, else the first of the same task in the file beside. */
async function beside(asked, told) {
  if (!asked.beside) return null;
  let id = asked.besideid;
  if (!id) {
    const played = await get("/api/played", { task: told.trace.task_id });
    id = played.find((p) => p.file === asked.beside)?.id;
  }
  const other = id && (await get("/api/trace", { file: asked.beside, id, preset: asked.preset }));
  return other && other.trace.task_id === told.trace.task_id ? other : null;
}

export const leave = () => list.stop();

export function key(event) {
  if (event.key === "j") list.step(1);
  if (event.key === "k") list.step(-1);
  if (event.key === "e" && sides) first();
}

function first() {
  jump(detail, sides[0]);
  say(sides[0].first?.said || "no mistake");
}

function row(t, params) {
  const gain = t.other === null || t.reward === null ? null : t.reward - t.other;
  return [
    h("span", { class: "top" }, h("span", { class: `dot ${GOOD[t.result] ?? ""}`, title: t.result }), h("b", {}, t.id),
      h("span", { class: "num" }, number(t.reward, 2)),
      params.against && gain !== null ? h("span", { class: `num ${gain < 0 ? "bad" : gain > 0 ? "good" : ""}` }, `${gain >= 0 ? "+" : "−"}${Math.abs(gain).toFixed(2)}`) : null),
    h("span", { class: "line" }, t.said),
    h("span", { class: "meta" }, [t.result, t.failure !== "none" && FAILURES[t.failure] + (t.place === null ? "" : ` at #${t.place}`), count(t.calls, "call") + (t.needed === null ? "" : `, ${t.needed} needed`), t.kind].filter(Boolean).join(" · ")),
  ];
}

/** The choice of another file, whose reward stands beside each row. */
function against(params, files) {
  const others = files.filter((f) => f.name !== params.file);
  if (!others.length) return null;
  const change = (e) => {
    const name = e.target.value;
    const q = query();
    go(here({ against: name, beside: name, besideid: "", offset: "", order: name ? (q.order ?? "lost most") : q.order?.endsWith("most") ? "" : q.order }));
  };
  return h("label", { class: "whole" }, h("span", {}, "Compare with"),
    h("select", { onchange: change }, h("option", { value: "" }, "nothing"), others.map((f) => h("option", { value: f.name, selected: f.name === params.against }, f.name))));
}

function draw(asked, told, other, played) {
  const { trace } = told;
  const rest = played.filter((p) => !(p.file === asked.file && p.id === trace.id));
  return [
    h("header", { class: "head" },
      h("a", { class: "back", href: here({ id: "", beside: asked.against, besideid: "" }) }, "‹ Traces"),
      h("h2", {}, trace.id),
      h("p", { class: "chips" },
        told.first?.kind ? h("button", { class: "jump", onclick: first }, `Jump to the first mistake: ${FAILURES[told.first.kind]}`) : told.task ? chip("no mistake", "good") : null,
        told.tasks ? h("a", { class: "chip", href: link("/tasks", { file: told.tasks, id: trace.task_id }) }, "its task") : chip(`task ${trace.task_id}`),
        told.task ? chip(told.task.kind, `kind-${told.task.kind}`) : null,
        presets(asked, told)),
      rest.length ? h("p", { class: "chips" }, h("span", { class: "note" }, "side by side with "), rest.slice(0, 12).map((p) =>
        h("a", { class: `chip ${GOOD[p.result] ?? ""}`, href: here({ beside: p.file, besideid: p.id }), "aria-current": other?.trace.id === p.id && asked.beside === p.file ? "true" : null }, `${p.policy}: ${number(p.reward, 2)}`)),
        asked.beside ? h("a", { class: "chip", href: here({ beside: "", besideid: "", against: "" }) }, "none") : null) : null),
    other ? both(told, other) : single(told),
  ];
}

function presets(asked, told) {
  if (!told.score) return null;
  return h("label", { class: "inline" }, "preset ",
    h("select", { id: "preset", onchange: (e) => go(here({ preset: e.target.value })) }, told.presets.map((p) => h("option", { selected: p === (asked.preset ?? "strict") }, p))));
}

function single(told) {
  return [
    bars(told),
    h("div", { class: "pair" },
      h("div", { class: "side" }, h("h3", {}, `Episode of ${told.trace.policy || "the policy"}`), chat(told, (at) => here({ at }))),
      told.task ? h("div", { class: "side" }, h("h3", {}, "Ground truth"), truth(told.task.turns, fate(told))) : null),
    h("div", { class: "endstate" }, h("h3", {}, "End state"), endState(told)),
    about(told),
  ];
}

function both(told, other) {
  const side = (each) => h("div", { class: "side" },
    h("h3", {}, each.trace.policy || each.trace.id, " ", each.first?.kind ? chip(FAILURES[each.first.kind], "bad") : chip("no mistake", "good")),
    bars(each), chat(each), h("div", { class: "endstate" }, h("h4", {}, "End state"), endState(each)), about(each));
  return [
    h("div", { class: "pair" }, side(told), side(other)),
    told.task ? behind("Ground truth", truth(told.task.turns)) : null,
  ];
}

function about({ trace }) {
  return h("p", { class: "note" }, `${count(trace.calls.length, "call")} · ended: ${human(trace.stop_reason)} · ${trace.usage.prompt_tokens.toLocaleString("en")} tokens read, ${trace.usage.completion_tokens.toLocaleString("en")} written`);
}
