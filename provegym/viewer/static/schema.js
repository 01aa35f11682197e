// What a tool takes: its JSON Schema as a table, and as a form to fill.
import { chip, h, table } from "./dom.js";

const known = (schema) => Object.entries(schema.properties ?? {});

function kind(schema) {
  if (schema.enum) return "choice";
  const type = Array.isArray(schema.type) ? schema.type.find((t) => t !== "null") : schema.type;
  if (type === "array" && ["string", "number", "integer"].includes(schema.items?.type) && !schema.items.enum) return "lines";
  return ["string", "number", "integer", "boolean"].includes(type) ? type : "json";
}

/** The parameters of a tool, one a row. */
export function parameters(schema) {
  const needed = new Set(schema.required ?? []);
  if (!known(schema).length) return h("p", { class: "note" }, "Takes nothing.");
  return table("Parameters", ["parameter", "type", "meaning"], known(schema).map(([name, p]) => [
    [h("code", {}, name), needed.has(name) ? [" ", chip("required", "warn")] : null],
    [p.enum ? p.enum.join(" | ") : p.type === "array" ? `list of ${p.items?.type ?? "any"}` : String(p.type ?? "any"),
      p.minimum !== undefined || p.maximum !== undefined ? ` ${p.minimum ?? ""} … ${p.maximum ?? ""}` : "",
      p.default !== undefined && p.default !== "" ? `, default ${JSON.stringify(p.default)}` : ""],
    p.description ?? "",
  ]));
}

/** A form: its element, `read()` for the arguments, `fill(arguments)`. `read` throws on bad JSON. */
export function form(schema) {
  const needed = new Set(schema.required ?? []);
  const fields = known(schema).map(([name, p]) => [name, p, input(name, p, needed.has(name))]);
  const element = h("div", { class: "form" }, fields.length ? fields.map(([name, p, box]) =>
    h("label", { class: kind(p) === "json" || kind(p) === "lines" ? "whole" : null },
      h("span", {}, name, needed.has(name) ? h("b", { class: "bad", title: "required" }, " *") : null), box,
      h("small", {}, p.description ?? ""))) : h("p", { class: "note" }, "This tool takes nothing."));
  const read = () => Object.fromEntries(fields.filter(([, , box]) => box.value !== "").map(([name, p, box]) => [name, parsed(name, p, box.value)]));
  const fill = (given) => fields.forEach(([name, p, box]) => { box.value = name in given ? written(p, given[name]) : ""; });
  return { element, read, fill };
}

function input(name, p, needed) {
  const common = { name, "aria-required": needed ? "true" : null };
  const hint = p.default === undefined ? "" : `default ${JSON.stringify(p.default)}`;
  switch (kind(p)) {
    case "choice":
      return h("select", common, h("option", { value: "" }, hint || "–"), p.enum.map((v) => h("option", { value: JSON.stringify(v) }, String(v))));
    case "boolean":
      return h("select", common, h("option", { value: "" }, hint || "–"), h("option", { value: "true" }, "true"), h("option", { value: "false" }, "false"));
    case "integer":
    case "number":
      return h("input", { ...common, inputmode: "decimal", placeholder: hint, autocomplete: "off" });
    case "lines":
      return h("textarea", { ...common, rows: 2, placeholder: "one a line" });
    case "json":
      return h("textarea", { ...common, rows: 3, placeholder: "JSON", class: "mono" });
    default:
      return h("input", { ...common, placeholder: hint, autocomplete: "off" });
  }
}

function parsed(name, p, text) {
  switch (kind(p)) {
    case "choice":
    case "boolean":
      return JSON.parse(text);
    case "integer":
    case "number": // what is no number goes as it is: the tool says what is wrong with it
      return Number.isNaN(Number(text)) ? text : Number(text);
    case "lines": {
      const items = text.split("\n").filter((line) => line !== "");
      return p.items.type === "string" ? items : items.map((v) => (Number.isNaN(Number(v)) ? v : Number(v)));
    }
    case "json":
      try {
        return JSON.parse(text);
      } catch {
        throw new Error(`${name} is no JSON`);
      }
    default:
      return text;
  }
}

function written(p, v) {
  switch (kind(p)) {
    case "lines": return v.join("\n");
    case "choice": case "boolean": return JSON.stringify(v);
    case "json": return JSON.stringify(v, null, 1);
    default: return String(v);
  }
}
