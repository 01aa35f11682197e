// The dependency graph as a picture to zoom and move in, and the evidence of its edges.
import { behind, chip, count, h, number, put, s } from "./dom.js";
import { value } from "./value.js";

const RADIUS = 250;
const CELL = 2 * RADIUS + 480;
const DENSE = 300; // edges from which on they are drawn faintly, without heads, until a tool is chosen
const WORDS = {
  explicit: "takes an id from",
  implicit: "works only after",
  bridge: "takes another server's value",
};

/**
 * The picture with its controls. `wanted` is a tool and `edge` the tool at the other end of one of
 * its edges; `choose(tool, edge)` is called with others.
 */
export function graph(told, wanted, edge, choose) {
  const chosen = told.tools.includes(wanted) ? wanted : "";
  const places = layout(told);
  const columns = Math.ceil(Math.sqrt(told.servers.length));
  const size = [columns * CELL, Math.ceil(told.servers.length / columns) * CELL];
  const camera = { x: 0, y: 0, w: size[0], h: size[1] };
  const picture = s("svg", { class: `graph ${told.edges.length > DENSE && !chosen ? "dense" : ""}`, role: "img", tabindex: 0, "aria-label": `Dependency graph of ${told.servers.join(", ")}: ${count(told.tools.length, "tool")}, ${count(told.edges.length, "edge")}. Choose a tool above to read its edges.` });
  picture.append(
    s("defs", {}, ["explicit", "implicit", "bridge"].map((kind) =>
      s("marker", { id: `head-${kind}`, class: `head ${kind}`, viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, s("path", { d: "M0 0L8 4L0 8z" })))),
    ...told.servers.map((name, i) => s("text", { class: "server", x: (i % columns) * CELL + CELL / 2, y: Math.floor(i / columns) * CELL + 26 }, told.servers.length > 1 ? name : "")),
    ...told.edges.filter((e) => places[e.source] && places[e.target]).map((e) => line(e, places, chosen, edge, choose)),
    ...told.tools.filter((name) => places[name]).map((name) => node(name, told, places, chosen, choose)));
  const look = () => picture.setAttribute("viewBox", `${camera.x} ${camera.y} ${camera.w} ${camera.h}`);
  const zoom = (by, at = [0.5, 0.5]) => {
    const w = Math.min(size[0] * 2, Math.max(120, camera.w * by));
    const factor = w / camera.w;
    camera.x += camera.w * at[0] * (1 - factor);
    camera.y += camera.h * at[1] * (1 - factor);
    camera.w = w;
    camera.h *= factor;
    look();
  };
  const move = (x, y) => { camera.x += x * camera.w; camera.y += y * camera.h; look(); };
  const whole = () => { Object.assign(camera, { x: 0, y: 0, w: size[0], h: size[1] }); look(); };
  look();
  steer(picture, zoom, move, whole);
  const panel = h("div", { class: "evidence" });
  put(panel, evidence(told, chosen, edge));
  return h("div", { class: "graphbox" },
    h("div", { class: "graphbar" },
      h("label", { class: "inline" }, "Tool ", h("select", { onchange: (e) => choose(e.target.value, "") },
        h("option", { value: "" }, "all"), told.tools.map((name) => h("option", { value: name, selected: name === chosen }, name)))),
      h("span", { class: "buttons" },
        h("button", { "aria-label": "Zoom in", onclick: () => zoom(0.75) }, "+"),
        h("button", { "aria-label": "Zoom out", onclick: () => zoom(1.33) }, "−"),
        h("button", { onclick: whole }, "Fit")),
      Object.entries(WORDS).map(([kind, words]) => h("span", { class: `legend ${kind}` }, h("i"), `${kind} (${number(told.pairs[kind] ?? 0)}): ${words}`)),
      ["read", "write"].map((effect) => h("span", { class: `legend tool ${effect}` }, h("i"), `a tool that ${effect}s`))),
    h("div", { class: "graphpair" }, picture, panel));
}

function layout(told) {
  const columns = Math.ceil(Math.sqrt(told.servers.length));
  const places = {};
  told.servers.forEach((server, i) => {
    const tools = told.tools.filter((name) => (told.owners[name] ?? server) === server);
    const [cx, cy] = [(i % columns) * CELL + CELL / 2, Math.floor(i / columns) * CELL + CELL / 2];
    tools.forEach((name, k) => {
      const angle = (2 * Math.PI * k) / tools.length;
      places[name] = { cx, cy, angle, x: cx + RADIUS * Math.cos(angle), y: cy + RADIUS * Math.sin(angle) };
    });
  });
  return places;
}

function line(e, places, chosen, edge, choose) {
  const a = places[e.source], b = places[e.target];
  const [mx, my] = [(a.x + b.x + a.cx + b.cx) / 4, (a.y + b.y + a.cy + b.cy) / 4];
  const role = !chosen ? "" : e.source === chosen ? "out" : e.target === chosen ? "in" : "dim";
  const d = `M${a.x} ${a.y}Q${mx} ${my} ${b.x} ${b.y}`;
  const read = role && role !== "dim" && edge === (role === "out" ? e.target : e.source);
  const open = () => (role === "out" ? choose(e.source, e.target) : choose(e.target, e.source));
  return s("g", { class: "link", "data-edge": `${e.source} ${e.target}`, onclick: open },
    s("title", {}, `${e.target} ${WORDS[e.kind]} ${e.source}`),
    s("path", { class: "hit", d }),
    s("path", { class: `edge ${e.kind} ${role} ${read ? "read" : ""}`, d, "marker-end": role === "dim" ? null : `url(#head-${e.kind})` }));
}

function node(name, told, places, chosen, choose) {
  const p = places[name];
  const degrees = (p.angle * 180) / Math.PI;
  const left = degrees > 90 && degrees < 270;
  const [x, y] = [p.cx + (RADIUS + 12) * Math.cos(p.angle), p.cy + (RADIUS + 12) * Math.sin(p.angle)];
  const joined = chosen && told.edges.some((e) => (e.source === chosen && e.target === name) || (e.target === chosen && e.source === name));
  const role = !chosen ? "" : name === chosen ? "chosen" : joined ? "joined" : "dim";
  return s("g", { class: `node ${told.effects[name] ?? ""} ${role}`, onclick: () => choose(name === chosen ? "" : name, "") },
    s("circle", { cx: p.x, cy: p.y, r: name === chosen ? 8 : 5 }),
    s("text", { x, y, "text-anchor": left ? "end" : "start", "dominant-baseline": "middle", transform: `rotate(${left ? degrees - 180 : degrees} ${x} ${y})` }, name));
}

function steer(picture, zoom, move, whole) {
  picture.addEventListener("wheel", (event) => {
    event.preventDefault();
    const box = picture.getBoundingClientRect();
    zoom(event.deltaY > 0 ? 1.15 : 0.87, [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height]);
  }, { passive: false });
  let held = null;
  picture.addEventListener("pointerdown", (event) => { held = [event.clientX, event.clientY]; });
  picture.addEventListener("pointermove", (event) => {
    if (!held || !event.buttons) return;
    const box = picture.getBoundingClientRect();
    move((held[0] - event.clientX) / box.width, (held[1] - event.clientY) / box.height);
    held = [event.clientX, event.clientY];
  });
  picture.addEventListener("pointerup", () => { held = null; });
  picture.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] };
    if (event.key in moves) move(...moves[event.key]);
    else if (event.key === "+") zoom(0.75);
    else if (event.key === "-") zoom(1.33);
    else if (event.key === "0") whole();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
}

function evidence(told, chosen, edge) {
  if (!chosen) {
    const { explicit = 0, implicit = 0, bridge = 0, none = 0 } = told.pairs;
    return [h("h3", {}, "Edges"), h("p", { class: "note" }, `${number(explicit)} explicit, ${number(implicit)} implicit, ${number(bridge)} bridges; ${number(none)} pairs have none. Choose a tool or an edge to see what it needs and what needs it, and why.`)];
  }
  const into = told.edges.filter((e) => e.target === chosen);
  const out = told.edges.filter((e) => e.source === chosen);
  return [
    h("h3", {}, chosen),
    h("h4", {}, `Comes after (${into.length})`, into.length ? h("span", { class: "note" }, " broken lines") : null), into.map((e) => proof(e, e.source, edge)),
    h("h4", {}, `Comes before (${out.length})`, out.length ? h("span", { class: "note" }, " solid lines") : null), out.map((e) => proof(e, e.target, edge)),
  ];
}

function proof(e, other, edge) {
  const { entity, path, parameter } = e.evidence;
  const short = e.kind === "explicit" && entity ? [h("code", {}, path), " → ", h("code", {}, parameter)] : e.kind === "bridge" ? e.evidence.fact : e.evidence.refused_before ? `refused before: ${e.evidence.refused_before}` : e.evidence.why;
  const told = behind([h("b", {}, other), " ", chip(e.kind, e.kind), " ", h("span", { class: "note" }, short ?? "")], value(e.evidence), e.by.length ? h("p", { class: "note" }, `found by ${e.by.join(", ")}`) : null);
  told.open = other === edge;
  return told;
}
