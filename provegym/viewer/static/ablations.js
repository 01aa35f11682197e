// A run of ablations: which cells are done, and the table that it wrote.
import { chip, count, h, human, number, table } from "./dom.js";

/** The page of the run; `to(place)` is the link to a cell like "tiny/full". */
export function ablations({ trainings, blocks }, to) {
  const done = trainings.filter((t) => t.note).length;
  const places = new Set(trainings.map((t) => `${t.policy}/${t.cell}`));
  let policy = "";
  return [
    h("h3", {}, `Cells: ${done} of ${count(trainings.length, "training")} done`),
    [...new Set(trainings.map((t) => t.policy))].map((name) => grid(name, trainings.filter((t) => t.policy === name), to)),
    blocks.length ? null : h("p", { class: "note" }, "No table yet: the run writes ablations.md at its end, and so does provegym report, of the cells that are done."),
    blocks.map((block) => {
      if (block.kind === "heading") {
        policy = block.text;
        return h("h3", {}, block.text);
      }
      const cell = (name) => (places.has(`${policy}/${name}`) ? to(`${policy}/${name}`) : null);
      if (block.kind === "text") return h("p", { class: "prose" }, inline(block.text, cell));
      return h("div", { class: "ablation" }, table(`${policy}: ${block.head[0]}`, block.head, block.rows.map((row) => row.map((text) => inline(text, cell)))));
    }),
  ];
}

function grid(policy, trainings, to) {
  const seeds = [...new Set(trainings.map((t) => t.seed))];
  const cells = [...new Set(trainings.map((t) => t.cell))];
  const at = (cell, seed) => trainings.find((t) => t.cell === cell && t.seed === seed);
  return h("div", { class: "cells" }, table(`Cells of ${policy}`, [policy, ...seeds.map((seed) => `seed ${seed}`)], cells.map((cell) => [
    h("a", { href: to(`${policy}/${cell}`) }, cell),
    ...seeds.map((seed) => state(at(cell, seed), to)),
  ])));
}

function state(training, to) {
  if (!training) return "";
  if (!training.note) return chip(training.begun ? "begun" : "not begun", training.begun ? "warn" : "");
  return h("a", { class: `chip ${training.note.collapse ? "bad" : "good"}`, href: to(training.place), title: training.note.collapse || null },
    training.note.collapse ? "done, with an alarm" : "done");
}

/** What trainings of a cell left behind. */
export function trained(trainings) {
  return table("Trainings", ["training", "GRPO steps", "seconds", "held-out episodes", "masked", "groups that teach nothing", "alarm"],
    trainings.map(({ place, note, begun }) => note
      ? [place, number(note.steps), number(note.seconds, 0), number(note.episodes), number(note.masked), number(note.zero_variance, 2), note.collapse || "none"]
      : [place, human(begun ? "begun" : "not_begun"), "", "", "", "", ""]));
}

/** Markdown of one line as elements: code, bold, italic; code that names a cell is a link. */
function inline(text, cell) {
  return text.split(/(`[^`]+`|\*\*[^*]+\*\*|\*[^*]+\*)/).map((part) => {
    if (part.startsWith("`")) {
      const name = part.slice(1, -1);
      return cell(name) ? h("a", { href: cell(name) }, h("code", {}, name)) : h("code", {}, name);
    }
    if (part.startsWith("**")) return h("b", {}, part.slice(2, -2));
    return part.length > 2 && part.startsWith("*") ? h("em", {}, part.slice(1, -1)) : part;
  });
}
