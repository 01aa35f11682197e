// One episode: the chat with every call judged, the reward in bars, the end state.
import { behind, chip, h, human, number, table } from "./dom.js";
import { brief, changes, value } from "./value.js";

const OUTCOME = { ok: "good", infrastructure: "warn" };

/** The chat of an episode; `address(i)` is the link to a call, null where it has none. */
export function chat(told, address = () => null) {
  const { trace, task } = told;
  const left = new Set(trace.calls.keys());
  const take = (fits) => [...left].filter((i) => fits(trace.calls[i])).map((i) => (left.delete(i), callCard(told, i, address(i))));
  const parts = [];
  let step = 0;
  for (const message of trace.messages) {
    const text = typeof message.content === "string" ? message.content : message.content ? JSON.stringify(message.content) : "";
    if (message.role === "user") parts.push(said("user", text));
    else if (message.role === "system") parts.push(behind("system prompt", h("pre", {}, text)));
    else if (message.role === "assistant") {
      if (text.trim()) parts.push(said("policy", text));
      if (message.fault) parts.push(h("p", { class: "complaint" }, `fault: ${message.fault}`));
      const at = step++;
      parts.push(...take((call) => call.step === at));
    }
  }
  if (!trace.messages.length && task) {
    task.turns.forEach((turn, i) => parts.push(said("user", turn.user), ...take((call) => call.turn === i)));
  }
  parts.push(...take(() => true));
  if (trace.stop_reason !== "done") parts.push(h("p", { class: "note" }, `The episode ended: ${human(trace.stop_reason)}.`));
  return h("div", { class: "chat" }, parts);
}

function said(who, text) {
  return h("div", { class: `said ${who}` }, h("span", { class: "who" }, who), text);
}

function callCard(told, i, address) {
  const call = told.trace.calls[i];
  const note = told.calls?.[i];
  const first = told.first?.position === i;
  return h("article", { class: `call ${note?.mistake ? "wrong" : "right"}${first ? " first" : ""}`, "data-call": i, tabindex: -1 },
    h("header", {},
      address ? h("a", { class: "id", href: address, title: "the address of this call" }, h("code", {}, `#${i}`)) : h("code", { class: "id" }, `#${i}`), h("b", { class: "tool" }, call.name),
      chip(human(call.outcome), OUTCOME[call.outcome] ?? "bad", "outcome"),
      note?.matched ? chip(`matches ${note.matched}`, "good", "the call of the ground truth that it counts as") : note ? chip("matches none", "warn", "it counts as no call of the ground truth") : null,
      first ? chip("first mistake", "bad") : null),
    note?.reason ? h("p", { class: "note" }, note.reason) : null,
    note?.satisfied?.length ? h("p", { class: "order good" }, `✓ after ${note.satisfied.join(", ")}, as it must be`) : null,
    note?.unsatisfied?.length ? h("p", { class: "order bad" }, `✗ not after ${note.unsatisfied.join(", ")}, as it must be`) : null,
    argumentRows(call.arguments, note?.arguments ?? []),
    behind(["result ", h("span", { class: "note" }, brief(call.result, 70))], value(call.result)),
    note ? changed(note.changes) : null);
}

function argumentRows(made, compared) {
  if (made === null || typeof made !== "object" || Array.isArray(made)) return h("pre", { class: "raw" }, typeof made === "string" ? made : JSON.stringify(made));
  const known = Object.fromEntries(compared.map((c) => [c.key, c]));
  const keys = Object.keys(made);
  if (!keys.length) return h("p", { class: "note" }, "no arguments");
  return h("dl", { class: "fields" }, keys.map((key) => {
    const c = known[key];
    return [
      h("dt", {}, key),
      h("dd", { class: c ? (c.equal ? "equal" : "unequal") : null },
        value(made[key]),
        c ? h("span", { class: "sign" }, c.equal ? " =" : " ≠ ") : null,
        c && !c.equal ? h("span", { class: "wanted" }, "wanted ", value(c.wanted)) : null,
        c?.refs.length ? chip(c.refs.join(", "), "ref", "where the value comes from, in the policy's own run") : null),
    ];
  }));
}

function changed(list) {
  if (list === null) return h("p", { class: "note" }, "What it changed is not known: a replay goes another way.");
  return list.length ? h("div", { class: "changed" }, changes(list)) : null;
}

/** The reward, component by component. */
export function bars(told) {
  if (!told.score) return h("p", { class: "note" }, "The task of this trace is not in the folder, so nothing is scored.");
  if (told.score.masked) return h("p", { class: "note" }, "Masked: our own fault touched the episode. It has no score.");
  const { total, max_total, normalized } = told.score;
  return h("figure", { class: "bars" },
    h("figcaption", {}, h("b", {}, number(normalized)), ` ${number(total)} of ${number(max_total)}, ${told.score.preset}`),
    h("dl", {}, told.bars.map((b) => {
      const size = Math.min(1, Math.abs(b.value ?? 0));
      const kind = b.weight === 0 ? "off" : b.value < 0 ? "bad" : b.value === 1 ? "good" : "";
      return [
        h("dt", {}, human(b.name)),
        h("dd", {}, h("span", { class: "track" }, h("i", { class: kind, style: { width: `${100 * size}%` } })),
          h("span", { class: "num" }, number(b.value, 2)), h("span", { class: "note" }, b.weight ? ` × ${b.weight} = ${number(b.part, 2)}` : " not counted")),
      ];
    })));
}

/** The end state beside the wanted one. */
export function endState(told) {
  if (!told.state?.length) return h("p", { class: "note" }, told.state ? "Nothing was to change, and nothing did." : "Not known.");
  return table("End state", ["", "table", "row", "field", "made", "wanted"], told.state.map((a) => [
    h("span", { class: a.equal ? "good" : "bad" }, a.equal ? "=" : "≠"), a.table, h("code", {}, a.row), a.field,
    "made" in a ? brief(a.made, 60) : "", "wanted" in a ? brief(a.wanted, 60) : "",
  ]));
}

/** What a policy made of a call of the ground truth, for `truth`. */
export function fate(told) {
  const by = Object.fromEntries((told.calls ?? []).filter((c) => c.matched).map((c) => [c.matched, c]));
  return (call) => {
    if (!told.calls) return null;
    const note = by[call.id];
    if (note) {
      const whole = note.arguments.every((a) => a.equal);
      return { chips: [chip(`matched by #${note.position}`, whole ? "good" : "warn")] };
    }
    return { chips: [chip("missing", "bad")], body: h("p", { class: "note bad" }, told.unmatched[call.id]) };
  };
}

/** Bring the first mistake into sight. */
export function jump(box, told) {
  const position = told.first?.position;
  const target = position !== null && position !== undefined
    ? box.querySelector(`[data-call="${position}"]`)
    : box.querySelector(told.first?.kind === "missing" ? ".truth .call:has(.chip.bad)" : ".endstate");
  show(target);
}

/** Bring an element into sight and mark it for a moment. */
export function show(target) {
  if (!target) return;
  for (let up = target; up; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
  target.setAttribute("tabindex", "-1");
  target.scrollIntoView({ block: "center" });
  target.focus({ preventScroll: true });
  target.classList.add("flash");
  setTimeout(() => target.classList.remove("flash"), 1500);
}
