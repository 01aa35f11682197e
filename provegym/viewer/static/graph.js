// The dependency graph as a picture to zoom and move in, and the evidence of its edges.
import { behind, chip, count, h, number, put, s } from "./dom.js";
import { value } from "./value.js";

const RADIUS = 250;
const CELL = 2 * RADIUS + 480;
const DENSE = 300; // edges from which on they are drawn faintly, without heads, until a tool is chosen
let seen = { of: "", camera: null }; // so that choosing what is near does not zoom out again
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
  const of = told.tools.join();
  const camera = seen.of === of ? seen.camera : { x: 0, y: 0, w: size[0], h: size[1] };
  seen = { of, camera };
  const picture = s("svg", { class: `graph ${told.edges.length > DENSE && !chosen ? "dense" : ""}`, role: "img", tabindex: 0, "aria-label": `Dependency graph of ${told.servers.join(", ")}: ${count(told.tools.length, "tool")}, ${count(told.edges.length, "edge")}. Choose a tool above to read its edges.` });
  picture.append(
    s("defs", {}, ["explicit", "implicit", "bridge"].map((kind) =>
      s("marker", { id: `head-${kind}`, class: `head ${kind}`, viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" }, s("path", { d: "M0 0L8 4L0 8z" })))),
    ...told.servers.map((name, i) => s("text", { class: "server", x: (i % columns) * CELL + CELL / 2, y: Math.floor(i / columns) * CELL + 26 }, told.servers.length > 1 ? name : "")),
    ...told.edges.filter((e) => places[e.source] && places[e.target]).map((e) => line(e, places, chosen, edge, choose)),
    ...told.tools.filter((name) => places[name]).map((name) => node(name, told, places, chosen, choose)));
  const look = () => picture.setAttribute("viewBox", `${camera.x} ${camera.y} ${camera.w} ${camera.h}`);
  const zoom = (by, at = { x: camera.x + camera.w / 2, y: camera.y + camera.h / 2 }) => {
    const w = Math.min(size[0] * 2, Math.max(120, camera.w * by));
    const factor = w / camera.w;
    camera.x += (at.x - camera.x) * (1 - factor);
    camera.y += (at.y - camera.y) * (1 - factor);
    camera.w = w;
    camera.h *= factor;
    look();
  };
  const move = (x, y) => { camera.x += x; camera.y += y; look(); };
  const whole = () => { Object.assign(camera, { x: 0, y: 0, w: size[0], h: size[1] }); look(); };
  look();
  point(picture, zoom, move);
  steer(picture, camera, zoom, move, whole);
  const panel = h("div", { class: "evidence" });
  put(panel, evidence(told, chosen, edge));
  return h("div", { class: "graphbox" },
    h("div", { class: "graphbar" },
      h("label", { class: "inline" }, "Tool ", h("select", { id: "graph-tool", onchange: (e) => choose(e.target.value, "") },
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

/** Wheel, mouse and fingers: what is under a pointer stays under it. */
function point(picture, zoom, move) {
  const held = new Map(); // the last event of each finger, or of the mouse
  let dragged = false;
  const at = (event) => new DOMPoint(event.clientX, event.clientY).matrixTransform(picture.getScreenCTM().inverse());
  const apart = (a, b) => Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY);
  picture.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(event.deltaY > 0 ? 1.15 : 0.87, at(event));
  }, { passive: false });
  picture.addEventListener("pointerdown", (event) => {
    dragged = held.size > 0;
    held.set(event.pointerId, event);
  });
  picture.addEventListener("pointermove", (event) => {
    const last = held.get(event.pointerId);
    if (!event.buttons) held.delete(event.pointerId); // it was let go elsewhere
    if (!last || !event.buttons || (!dragged && apart(last, event) < 4)) return;
    dragged = true;
    picture.setPointerCapture(event.pointerId);
    const other = [...held].find(([id]) => id !== event.pointerId)?.[1];
    if (other) zoom(Math.max(1, apart(last, other)) / Math.max(1, apart(event, other)), at(other));
    else move(at(last).x - at(event).x, at(last).y - at(event).y);
    held.set(event.pointerId, event);
  });
  for (const end of ["pointerup", "pointercancel"]) picture.addEventListener(end, (event) => held.delete(event.pointerId));
  picture.addEventListener("click", (event) => { if (dragged) event.stopPropagation(); }, true); // a drag chooses nothing
}

function steer(picture, camera, zoom, move, whole) {
  picture.addEventListener("keydown", (event) => {
    const moves = { ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1] };
    if (event.key in moves) move(moves[event.key][0] * camera.w, moves[event.key][1] * camera.h);
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
