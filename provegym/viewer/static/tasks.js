// Tasks: filtered in a list; one with its turns, ground truth, references and certificate.
import { get } from "./api.js";
import { here, link } from "./address.js";
import { behind, chip, count, h, human, number, put, narrow, table } from "./dom.js";
import { truth } from "./calls.js";
import { listing } from "./list.js";
import { brief } from "./value.js";

const FACETS = ["server", "kind", "calls", "turns", "perturbation", "information", "certified"];
let list, detail, shown;

export function mount(main) {
  list = listing({ label: "Tasks", maker: "provegym synth", kinds: ["tasks"], path: "/api/tasks", row, own: FACETS });
  detail = h("section", { class: "detail", "aria-label": "The task" });
  shown = "";
  put(main, h("h1", { class: "unseen" }, "Tasks"), h("div", { class: "split" }, list.element, detail));
}

export async function update(query) {
  narrow(detail.parentElement, Boolean(query.id));
  const id = await list.update(query);
  const key = JSON.stringify([query.file, id]);
  if (key === shown) return;
  shown = key;
  if (!id) return put(detail, h("p", { class: "empty" }, "Choose a task, or step through them with j and k."));
  const [task, played] = [await get("/api/task", { file: query.file, id }), await get("/api/played", { task: id })];
  if (shown === key) put(detail, draw(task, played));
}

export const leave = () => list.stop();

export function key(event) {
  if (event.key === "j") list.step(1);
  if (event.key === "k") list.step(-1);
}

function row(t) {
  return [
    h("span", { class: "top" }, h("b", {}, t.id), h("span", { class: "meta" }, count(t.calls, "call"), t.turns > 1 ? `, ${t.turns} turns` : "")),
    h("span", { class: "line" }, t.said),
    h("span", { class: "meta" }, `${t.kind} · ${t.server.replaceAll(",", ", ")}${t.perturbation === "none" ? "" : ` · ${t.perturbation.split(",").map(human).join(", ")}`}`),
  ];
}

function draw(task, played) {
  const calls = task.turns.flatMap((turn) => turn.calls);
  return [
    h("header", { class: "head" },
      h("a", { class: "back", href: here({ id: "" }) }, "‹ Tasks"),
      h("h2", {}, task.id),
      h("p", { class: "chips" },
        chip(task.kind, `kind-${task.kind}`), task.servers.map((name) => h("a", { class: "chip", href: link("/worlds", { server: name, seed: task.seed }) }, name)),
        task.perturbed.map((p) => chip(human(p), "warn")), chip(human(task.information)),
        chip(task.certificate.passed ? "certified" : "not certified", task.certificate.passed ? "good" : "bad")),
      h("p", { class: "note" }, [`world ${task.seed}`, task.reference_time, task.persona && `persona ${task.persona}`, task.teacher && `teacher ${task.teacher}`].filter(Boolean).join(" · "), " · ",
        h("a", { href: link("/play", { servers: task.servers.join(","), seed: task.seed }) }, "play this world")),
      played.length ? h("p", { class: "chips" }, h("span", { class: "note" }, "played by "), played.map((p) => h("a", { class: `chip ${p.result === "success" ? "good" : "bad"}`, href: link("/traces", { file: p.file, id: p.id }) }, `${p.policy}: ${number(p.reward, 2)}`))) : null),
    h("h3", {}, `Turns and ground truth: ${count(calls.length, "call")}`),
    truth(task.turns),
    h("h3", {}, "Wanted end state"),
    wanted(task.final_changes),
    h("h3", {}, "Certificate"),
    certificate(task.certificate),
    h("h3", {}, "Tools offered"),
    behind(count(task.tools.length, "tool"), h("ul", { class: "tools" }, task.tools.map((t) => h("li", {}, h("b", {}, t.function.name), " ", h("span", { class: "note" }, t.function.description))))),
  ];
}

function wanted(changes) {
  const rows = Object.entries(changes).flatMap(([name, rows]) => Object.entries(rows).flatMap(([id, fields]) =>
    fields === null ? [[name, id, "", "deleted"]] : Object.entries(fields).map(([field, v]) => [name, id, field, brief(v, 120)])));
  return rows.length ? table("Wanted end state", ["table", "row", "field", "value"], rows) : h("p", { class: "note" }, "Nothing changes.");
}

function certificate({ checks, scores, digest }) {
  return [
    h("p", { class: "chips" }, Object.entries(checks).map(([name, passed]) => chip(`${passed ? "✓" : "✗"} ${human(name)}`, passed ? "good" : "bad"))),
    Object.keys(scores).length ? h("p", { class: "note" }, "the ground truth earns ", Object.entries(scores).map(([name, v]) => `${number(v)} under ${name}`).join(", ")) : null,
    digest ? h("p", { class: "note" }, "digest ", h("code", {}, digest.slice(0, 16))) : null,
  ];
}
