// JSON values as people read them.
import { behind, h, number, table } from "./dom.js";

const LONG = 1200;
const ROWS = 50;
const DEEP = 4;

/** A value: flat records as a table, objects as a list, everything else as JSON. */
export function value(v, depth = 0) {
  if (v === null || typeof v !== "object") return scalar(v);
  const keys = Object.keys(v);
  if (!keys.length) return h("code", { class: "faint" }, Array.isArray(v) ? "[]" : "{}");
  if (Array.isArray(v) && records(v)) return recordTable(v);
  const text = JSON.stringify(v);
  if (text.length <= 72 || depth >= DEEP || (Array.isArray(v) && v.every(plain))) return code(v, text);
  if (Array.isArray(v)) return h("ol", { class: "items" }, v.slice(0, ROWS).map((item) => h("li", {}, value(item, depth + 1))), more(v));
  return h("dl", { class: "fields" }, keys.map((key) => [h("dt", {}, key), h("dd", {}, value(v[key], depth + 1))]));
}

/** One line of JSON, cut where it is long. */
export function brief(v, most = 90) {
  const text = v === undefined ? "–" : typeof v === "string" ? v : JSON.stringify(v);
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

/** A scalar in the colour of its kind. */
export function scalar(v) {
  if (typeof v === "string") return v.length > LONG ? longText(v) : h("span", { class: "text" }, v === "" ? "“”" : v);
  if (typeof v === "number") return h("span", { class: "num" }, Number.isInteger(v) ? String(v) : number(v, 4));
  return h("span", { class: "word" }, String(v));
}

function longText(v) {
  return h("div", {}, h("span", { class: "text" }, `${v.slice(0, LONG)}…`), behind(`all ${v.length.toLocaleString("en")} characters`, h("pre", {}, v)));
}

function code(v, text) {
  if (text.length <= LONG) return h("code", { class: "json" }, text.length <= 72 ? text : JSON.stringify(v, null, 1));
  return behind(`${text.length.toLocaleString("en")} characters of JSON`, h("pre", {}, JSON.stringify(v, null, 1)));
}

const plain = (v) => v === null || typeof v !== "object";
const records = (v) => v.length > 0 && v.every((row) => row && typeof row === "object" && !Array.isArray(row) && Object.values(row).every((x) => plain(x) || JSON.stringify(x).length < 60));

function recordTable(v) {
  const keys = [...new Set(v.flatMap(Object.keys))];
  const rows = v.slice(0, ROWS).map((row) => keys.map((key) => (row[key] === undefined ? "" : plain(row[key]) ? scalar(row[key]) : h("code", {}, JSON.stringify(row[key])))));
  return h("div", {}, table("records", keys, rows), more(v));
}

function more(v) {
  return v.length > ROWS ? h("p", { class: "note" }, `and ${v.length - ROWS} more`) : null;
}

/** What rows changed: created, changed and deleted ones with their fields. */
export function changes(list) {
  if (!list.length) return h("p", { class: "note" }, "Nothing changed.");
  return h("ul", { class: "changes" }, list.map((c) =>
    h("li", { class: c.kind },
      h("span", { class: "sign", "aria-hidden": "true" }, { created: "+", changed: "~", deleted: "−" }[c.kind]),
      h("b", {}, `${c.table} `), h("code", {}, c.row), ` ${c.kind}`,
      c.kind === "deleted" ? null : h("dl", { class: "fields" }, c.fields.map(([name, before, after]) => [
        h("dt", {}, name),
        h("dd", {}, c.kind === "changed" ? [h("del", {}, brief(before, 200)), " → "] : null, h("ins", {}, brief(after, 200))),
      ])))));
}
