// Curves over steps: the values faint, a running mean strong, the numbers at the pointer.
import { behind, h, number, put, s, table } from "./dom.js";

const [WIDTH, HEIGHT] = [460, 200];
const [LEFT, TOP, RIGHT, BOTTOM] = [46, 8, WIDTH - 8, HEIGHT - 26];
const WINDOW = 5;

/** A figure of some series, each a list of numbers or null by step. */
export function chart(title, steps, series) {
  const known = Object.entries(series).filter(([, values]) => values.some((v) => v !== null && v !== undefined));
  if (!known.length) return h("figure", { class: "chart" }, h("figcaption", {}, title), h("p", { class: "note" }, "No values yet."));
  const all = known.flatMap(([, values]) => values.filter((v) => v !== null && v !== undefined));
  const marks = ticks(Math.min(...all), Math.max(...all));
  const [first, last] = [steps[0], Math.max(steps.at(-1), steps[0] + 1)];
  const x = (step) => LEFT + ((RIGHT - LEFT) * (step - first)) / (last - first);
  const y = (v) => BOTTOM - ((BOTTOM - TOP) * (v - marks[0])) / (marks.at(-1) - marks[0]);
  const points = (values) => values.map((v, i) => (v === null || v === undefined ? "" : `${x(steps[i]).toFixed(1)},${y(v).toFixed(1)}`)).filter(Boolean).join(" ");
  const cursor = s("line", { class: "cursor", y1: TOP, y2: BOTTOM, x1: -9, x2: -9 });
  const picture = s("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `${title}: ${known.map(([name, values]) => `${name} ${number(final(values), 2)}`).join(", ")}` },
    marks.map((m) => [s("line", { class: "grid", x1: LEFT, x2: RIGHT, y1: y(m), y2: y(m) }), s("text", { class: "up", x: LEFT - 5, y: y(m) + 5 }, String(m))]),
    [first, last].map((step, i) => s("text", { class: i ? "end" : "start", x: x(step), y: HEIGHT - 7 }, i && last !== steps.at(-1) ? "" : `step ${step}`)),
    known.map(([, values], k) => [known.length < 3 ? s("polyline", { class: `raw c${k % 6}`, points: points(values) }) : null, s("polyline", { class: `mean c${k % 6}`, points: points(smooth(values)) })]),
    steps.length === 1 ? known.map(([, values], k) => s("circle", { class: `c${k % 6}`, cx: x(first), cy: y(values[0]), r: 3 })) : null,
    cursor);
  const legend = h("p", { class: "legendline" });
  const tell = (at) => put(legend, known.map(([name, values], k) => h("span", {}, h("i", { class: `c${k % 6}` }), `${name} `, h("b", {}, number(at === null ? final(smooth(values)) : values[at], 2)))), at === null ? null : h("span", { class: "note" }, `step ${steps[at]}`));
  tell(null);
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    const place = ((event.clientX - box.left) / box.width) * WIDTH;
    const at = steps.reduce((best, step, i) => (Math.abs(x(step) - place) < Math.abs(x(steps[best]) - place) ? i : best), 0);
    cursor.setAttribute("x1", x(steps[at]));
    cursor.setAttribute("x2", x(steps[at]));
    tell(at);
  });
  picture.addEventListener("pointerleave", () => { cursor.setAttribute("x1", -9); cursor.setAttribute("x2", -9); tell(null); });
  return h("figure", { class: "chart" }, h("figcaption", {}, title), legend, picture,
    behind("numbers", table(title, ["step", ...known.map(([name]) => name)], steps.map((step, i) => [step, ...known.map(([, values]) => number(values[i]))]))));
}

/** Trailing running mean; a step without a value has none. */
export function smooth(values) {
  return values.map((v, i) => {
    const part = values.slice(Math.max(0, i + 1 - WINDOW), i + 1).filter((w) => w !== null && w !== undefined);
    return v === null || v === undefined || !part.length ? null : part.reduce((a, b) => a + b) / part.length;
  });
}

const final = (values) => values.findLast((v) => v !== null && v !== undefined);

/** Round numbers from at most `low` to at least `high`. */
export function ticks(low, high) {
  if (high - low < 1e-9) [low, high] = low < 0 ? [low - 0.5, high + 0.5] : [0, low * 2 || 1];
  const rough = (high - low) / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((m) => m >= rough * (1 - 1e-9));
  const found = [];
  for (let i = Math.floor(low / step + 1e-9); i <= Math.ceil(high / step - 1e-9); i++) found.push(Number((i * step).toFixed(10)));
  return found;
}

/** Candidates that each reason takes away, and what is left, as bars that narrow. */
export function funnel(total, lost, left, name) {
  let rest = total;
  const bar = (label, n, took, kind) => h("li", {},
    h("span", { class: "name" }, label),
    h("span", { class: "track" }, h("i", { class: kind, style: { width: `${total ? (100 * n) / total : 0}%` } })),
    h("span", { class: "num" }, n.toLocaleString("en")), h("span", { class: "note" }, took ? `−${took.toLocaleString("en")}` : ""));
  return h("ol", { class: "funnel" }, bar("candidates", total, 0, "all"),
    Object.entries(lost).map(([reason, n]) => bar(`${reason.replaceAll("_", " ").replaceAll(":", ": ")} dropped`, (rest -= n), n, "rest")),
    bar(name, left, 0, "left"));
}
