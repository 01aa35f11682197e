// Calls of the ground truth, and the arrows that join a value to the result it comes from.
import { behind, chip, h, s } from "./dom.js";
import { brief, value } from "./value.js";

/** The value at a JSON Pointer. */
export function at(result, pointer) {
  return pointer.split("/").slice(1).reduce((v, key) => v?.[key.replaceAll("~1", "/").replaceAll("~0", "~")], result);
}

/** What later calls take from each call: pointers by its id. */
function given(turns) {
  const found = {};
  for (const call of turns.flatMap((turn) => turn.calls)) {
    for (const ref of Object.values(call.refs)) (found[ref.call] ??= new Set()).add(ref.path);
  }
  return found;
}

/**
 * The turns of a task with their calls; `fate(call)` adds what a policy made of it. Arrows lead
 * from a result to the argument that takes it.
 */
export function truth(turns, fate = () => null) {
  const shown = given(turns);
  const layer = s("svg", { class: "arrows", "aria-hidden": "true" });
  const box = h("div", { class: "truth" }, layer, turns.map((turn, i) => [
    h("div", { class: "said user" }, h("span", { class: "who" }, turns.length > 1 ? `user, turn ${i + 1}` : "user"), turn.user),
    turn.tools?.length ? h("p", { class: "note" }, `from here on also: ${turn.tools.map((t) => t.function.name).join(", ")}`) : null,
    turn.calls.length ? turn.calls.map((call) => ground(call, shown[call.id] ?? new Set(), fate(call))) : h("p", { class: "note" }, "no call is needed"),
    turn.reply ? h("div", { class: "said reply" }, h("span", { class: "who" }, "reply"), turn.reply) : null,
  ]));
  new ResizeObserver(() => draw(box, layer, turns)).observe(box);
  return box;
}

function ground(call, gives, fate) {
  return h("article", { class: "call", "data-ground": call.id },
    h("header", {}, h("code", { class: "id" }, call.id), h("b", { class: "tool" }, call.name), fate?.chips),
    call.after.length ? h("p", { class: "note" }, `after ${call.after.join(", ")}`) : null,
    h("dl", { class: "fields" }, Object.entries(call.arguments).map(([key, v]) => [
      h("dt", {}, key),
      h("dd", { "data-argument": `${call.id} ${key}` }, value(v), taken(call, key)),
    ])),
    [...gives].map((path) => h("p", { class: "gives", "data-gives": `${call.id} ${path}` },
      h("span", { class: "note" }, "gives "), h("code", {}, path), " = ", brief(at(call.result, path), 60))),
    fate?.body,
    behind("result", value(call.result)));
}

function taken(call, key) {
  const refs = Object.entries(call.refs).filter(([pointer]) => pointer === `/${key}` || pointer.startsWith(`/${key}/`));
  return refs.map(([, ref]) => chip(`from ${ref.call}`, "ref", ref.path));
}

/** The lane of an arrow between two heights: the nearest that is free there, of four. */
function lane(lanes, top, bottom) {
  let free = lanes.findIndex((end) => end < top);
  if (free < 0) free = lanes.length < 4 ? lanes.length : lanes.indexOf(Math.min(...lanes));
  lanes[free] = bottom;
  return free;
}

function draw(box, layer, turns) {
  const frame = box.getBoundingClientRect();
  layer.setAttribute("width", frame.width);
  layer.setAttribute("height", frame.height);
  layer.replaceChildren(s("defs", {}, s("marker", { id: "tip", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, s("path", { d: "M0 0L8 4L0 8z" }))));
  const lanes = [];
  for (const call of turns.flatMap((turn) => turn.calls)) {
    for (const [pointer, ref] of Object.entries(call.refs)) {
      const from = box.querySelector(`[data-gives="${CSS.escape(`${ref.call} ${ref.path}`)}"]`);
      const to = box.querySelector(`[data-argument="${CSS.escape(`${call.id} ${pointer.split("/")[1]}`)}"]`)?.previousElementSibling;
      if (!from || !to) continue;
      const a = from.getBoundingClientRect(), b = to.getBoundingClientRect();
      const y1 = a.top - frame.top + a.height / 2, y2 = b.top - frame.top + b.height / 2;
      const x1 = a.left - frame.left - 2, x2 = b.left - frame.left - 3;
      const out = 18 - 5 * lane(lanes, Math.min(y1, y2), Math.max(y1, y2));
      const bend = Math.sign(y2 - y1) * 5;
      layer.append(s("path", { d: `M${x1} ${y1}H${out + 5}Q${out} ${y1} ${out} ${y1 + bend}V${y2 - bend}Q${out} ${y2} ${out + 5} ${y2}H${x2}`, "marker-end": "url(#tip)" }));
    }
  }
}
