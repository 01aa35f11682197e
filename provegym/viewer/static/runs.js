// Runs: curves while training goes on, what was played, the yield of synthesis.
import { ablations, trained } from "./ablations.js";
import { get } from "./api.js";
import { link, query as now } from "./address.js";
import { chart, funnel } from "./chart.js";
import { behind, chip, count, h, number, put, narrow, table } from "./dom.js";

const COMPONENTS = ["validity", "coverage", "efficiency", "name", "argument", "state"];
const LIVE_MS = 1500;
const ROUNDS = 3; // of which one also asks for files that are new
const CELLS_MS = 10_000;
const QUIET_MS = 60_000;
let list, detail, shown, curves, timer;

export function mount(main) {
  list = h("nav", { class: "rows", "aria-label": "Runs" });
  detail = h("section", { class: "detail", "aria-label": "The run" });
  shown = null;
  curves = {};
  put(main, h("h1", { class: "unseen" }, "Runs"), h("div", { class: "split narrow" }, h("section", { class: "list", "aria-label": "Runs" }, list), detail));
}

export function leave() {
  clearTimeout(timer);
  shown = null; // what is under way stops
}

export async function update(query) {
  const all = await get("/api/runs");
  if (!detail.isConnected) return;
  narrow(detail.parentElement, query.run !== undefined || all.length === 1);
  if (!all.length) return put(list, h("p", { class: "empty" }, "There is no run in this folder: no curves, no rejections. provegym run writes some."));
  const run = all.find((r) => (r.folder || ".") === query.run) ?? all.find((r) => r.curves.length) ?? all[0];
  put(list, all.map((r) => h("a", { id: `run-${r.folder}`, href: link("/runs", { run: r.folder || "." }), "aria-current": r === run ? "true" : null },
    h("span", { class: "top" }, h("b", {}, r.name), r.settings.run?.policy ? h("span", { class: "meta" }, r.settings.run.policy) : null),
    h("span", { class: "meta" }, [r.folder || "this folder", r.ablations ? "ablations" : r.curves.length && count(r.curves.length, "curve"), r.played.length && count(r.played.length, "file of traces", "files of traces")].filter(Boolean).join(" · ")))));
  const key = JSON.stringify([run.folder, query.cell, run.curves, run.played, run.synthesis]);
  if (shown === key) return;
  shown = key;
  clearTimeout(timer);
  await (run.ablations && !query.cell ? drawAblations(run) : draw(query.cell ? inCell(run, query.cell) : run, query.cell));
}

/** What of a run lies in the folder of one of its cells. */
function inCell(run, cell) {
  const own = (files) => files.filter((file) => file.startsWith(`${run.folder ? `${run.folder}/` : ""}${cell}/`));
  return { ...run, curves: own(run.curves), played: own(run.played), synthesis: [] };
}

/** The cells and the table of a run of ablations; each cell leads to its curves and episodes. */
async function drawAblations(run, before = "") {
  const key = shown;
  const told = await get("/api/ablations", { run: run.folder });
  if (shown !== key) return;
  const seen = JSON.stringify(told);
  timer = setTimeout(() => drawAblations(run, seen).catch(() => {}), CELLS_MS);
  if (seen === before) return;
  put(detail,
    h("header", { class: "head" }, h("a", { class: "back", href: link("/runs", {}) }, "‹ Runs"), h("h2", {}, run.name), about(run)),
    ablations(told, (cell) => link("/runs", { run: run.folder || ".", cell })),
    run.synthesis.map((each) => h("section", { class: "synthesis", "data-file": each.rejections })),
    settings(run));
  await yields(run, key);
}

async function yields(run, key) {
  for (const each of run.synthesis) {
    const told = await get("/api/synthesis", { file: each.rejections });
    if (shown !== key) return;
    const box = detail.querySelector(`[data-file="${CSS.escape(each.rejections)}"]`);
    if (box.told !== JSON.stringify(told)) put(box, synthesis(each, told));
    box.told = JSON.stringify(told);
  }
}

function settings(run) {
  return Object.keys(run.settings).length ? behind("settings", h("pre", {}, JSON.stringify(run.settings, null, 2))) : null;
}

export function key(event) {
  const by = { j: 1, k: -1 }[event.key];
  const all = [...list.querySelectorAll("a")];
  const next = by && all[all.findIndex((a) => a.hasAttribute("aria-current")) + by];
  next?.click();
}

async function draw(run, cell) {
  const key = shown;
  const live = run.curves.map((file) => {
    curves[file] = { rows: [], next: 0, at: 0 };
    return { file, box: h("section", { class: "curves", "aria-label": file }) };
  });
  put(detail,
    h("header", { class: "head" }, h("a", { class: cell ? "up" : "back", href: link("/runs", cell ? { run: run.folder || "." } : {}) }, cell ? `‹ ${run.name}` : "‹ Runs"), h("h2", {}, cell ?? run.name), cell ? null : about(run)),
    cell ? h("section", { class: "trained" }) : null,
    cell && !live.length ? h("p", { class: "note" }, "No curves: nothing was trained by steps here.") : null,
    live.map((l) => l.box),
    run.synthesis.map((each) => h("section", { class: "synthesis", "data-file": each.rejections })),
    run.played.length ? [h("h3", {}, "Played"), h("p", { class: "chips" }, run.played.map((file) => h("a", { class: "chip", href: link("/traces", { file, order: "failed first" }) }, file)), run.played.length > 1 ? pairs(run.played) : null)] : null,
    cell ? null : settings(run));
  if (cell) {
    const told = await get("/api/ablations", { run: run.folder });
    if (shown !== key) return;
    put(detail.querySelector(".trained"), trained(told.trainings.filter((t) => `${t.place}/`.startsWith(`${cell}/`))));
  }
  await follow(key, live, run);
  await yields(run, key);
}

/** A link that compares the episodes before training with those after it. */
function pairs(played) {
  const find = (name) => played.find((file) => file.endsWith(`/${name}.traces.jsonl`));
  const [before, after] = [find("before"), find("after")];
  return before && after ? h("a", { class: "chip go", href: link("/traces", { file: after, against: before, beside: before, order: "gained most" }) }, "before and after, side by side") : null;
}

function about(run) {
  const told = run.settings.run ?? {};
  return h("p", { class: "chips" }, (told.servers ?? []).map((name) => h("a", { class: "chip", href: link("/worlds", { server: name }) }, name)),
    told.heldout_server ? chip(`${told.heldout_server} never trained on`, "warn") : null, told.seed !== undefined ? chip(`seed ${told.seed}`) : null);
}

/** Ask for what the curves have grown by, and for new files, for as long as the page is there. */
async function follow(key, live, run, round = 1) {
  if (round % ROUNDS === 0) {
    await update(now());
    await yields(run, key);
    if (shown !== key) return;
  }
  for (const { file, box } of live) {
    const known = curves[file];
    const told = await get("/api/curves", { file, from: known.next });
    if (shown !== key) return;
    if (told.next < known.next) known.rows = []; // the file was begun anew
    if (told.rows.length) known.at = known.rows.length ? Date.now() : 0;
    known.rows.push(...told.rows);
    if (told.next !== known.next || !box.childElementCount) {
      known.next = told.next;
      put(box, figures(file, known));
    }
  }
  const again = () => (document.hidden ? (timer = setTimeout(again, LIVE_MS)) : follow(key, live, run, round + 1).catch(() => {}));
  timer = setTimeout(again, LIVE_MS);
}

function figures(file, { rows, at }) {
  if (!rows.length) return [h("h3", {}, file), h("p", { class: "note" }, "No step yet.")];
  const steps = rows.map((row, i) => row.step ?? i + 1);
  const of = (name) => rows.map((row) => row[name] ?? null);
  const rewards = of("reward").filter((v) => v !== null);
  const part = Math.max(1, Math.round(rewards.length / 5));
  const mean = (values) => (values.length ? values.reduce((a, b) => a + b) / values.length : null);
  const masked = of("masked").reduce((a, b) => a + (b ?? 0), 0);
  const card = (name, text, small) => h("div", { class: "card" }, h("span", {}, name), h("b", {}, text), h("small", {}, small));
  const fresh = at && Date.now() - at < QUIET_MS;
  const open = { reward: of("reward") };
  return [
    h("h3", {}, file, " ", fresh ? chip("live", "good") : null),
    h("div", { class: "cards" },
      card("Steps", count(rows.length, "step"), rows.at(-1).seconds ? `${number(rows.at(-1).seconds, 1)} s for the last` : ""),
      rewards.length ? card("Reward", `${number(mean(rewards.slice(0, part)))} → ${number(mean(rewards.slice(-part)))}`, "first and last fifth of the steps") : null,
      of("calls").some((v) => v !== null) ? card("Calls per task", number(of("calls").findLast((v) => v !== null), 2), "in the last step") : null,
      card("Masked", count(masked, "episode"), "our faults, never scored")),
    h("div", { class: "charts" },
      rewards.length ? chart("Reward, normalized", steps, open) : null,
      COMPONENTS.some((c) => of(c).some((v) => v !== null)) ? chart("Components", steps, Object.fromEntries(COMPONENTS.map((c) => [c, of(c)]))) : null,
      of("calls").some((v) => v !== null) ? chart("Calls per task", steps, { calls: of("calls") }) : null,
      of("abstention").some((v) => v !== null) ? chart("Silence, and groups that teach nothing", steps, { "without a call": of("abstention"), "without variance": of("zero_variance") }) : null,
      of("masked").some((v) => v !== null) ? chart("Masked episodes", steps, { masked: of("masked") }) : null,
      of("loss").some((v) => v !== null) ? chart("Loss", steps, { loss: of("loss") }) : null),
  ];
}

function synthesis(each, told) {
  const lost = Object.values(told.lost).reduce((a, b) => a + b, 0);
  const total = told.certified + lost;
  return [
    h("h3", {}, `Synthesis: ${told.certified.toLocaleString("en")} of ${count(total, "candidate")}${total ? ` (${Math.round((100 * told.certified) / total)} %)` : ""}`),
    h("p", { class: "note" }, each.rejections, told.tasks ? [" · ", h("a", { href: link("/tasks", { file: told.tasks }) }, "its tasks")] : null),
    funnel(total, told.lost, told.certified, "certified"),
    behind("by kind and server",
      table("Tasks by kind", ["kind", "tasks"], Object.entries(told.kinds)),
      table("Tasks by server", ["server", "tasks"], Object.entries(told.servers)),
      Object.keys(told.cost).length ? h("p", { class: "note" }, `cost: ${Object.entries(told.cost).map(([k, v]) => `${k} ${number(v, 2)}`).join(", ")}`) : null),
  ];
}
