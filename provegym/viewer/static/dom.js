// Elements from names. Whatever a file says becomes text here, never markup.

/** An element with properties and children; children are elements, texts, lists, or nothing. */
export function h(name, props = {}, ...children) {
  return fill(document.createElement(name), props, children);
}

/** The same for a part of a picture. */
export function s(name, props = {}, ...children) {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), props, children);
}

function fill(element, props, children) {
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (key === "style") for (const [k, v] of Object.entries(value)) element.style.setProperty(k, v);
    else if (key === "value" || key === "checked") element[key] = value;
    else element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...flat(children));
  return element;
}

function flat(children) {
  return children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false);
}

/** Put other children into an element; the keyboard stays on what has the id that it was on. */
export function put(element, ...children) {
  const id = element.contains(document.activeElement) ? document.activeElement.id : "";
  element.replaceChildren(...flat(children));
  if (id) document.getElementById(id)?.focus({ preventScroll: true });
  return element;
}

/** On a phone there is room for the list or for the one that is looked at; each keeps its place. */
export function narrow(split, one) {
  if (split.classList.contains("one") === one) return;
  const left = split.dataset.left ?? 0;
  split.dataset.left = scrollY;
  split.classList.toggle("one", one);
  scrollTo(0, one ? 0 : left);
}

/** Tell those who do not see the page. */
export function say(text) {
  document.getElementById("said").textContent = text;
}

/** A number as people read it: at most `digits` places. */
export function number(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  if (Number.isInteger(value)) return value.toLocaleString("en");
  return value.toFixed(digits);
}

/** "over_calling" in words. */
export function human(name) {
  return String(name).replaceAll("_", " ");
}

/** "1 call", "2 calls". */
export function count(n, one, many = `${one}s`) {
  return `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
}

/** A small label; `kind` gives its colour. */
export function chip(text, kind = "", title = "") {
  return h("span", { class: `chip ${kind}`, title: title || null }, text);
}

/** A region that scrolls sideways, which the keyboard reaches, too. */
export function wide(label, ...children) {
  return h("div", { class: "wide", tabindex: 0, role: "region", "aria-label": label }, ...children);
}

/** A table; a cell is a text, an element, or a list of them. */
export function table(label, head, rows) {
  return wide(label, h("table", {},
    h("thead", {}, h("tr", {}, head.map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map((cell) => h("td", {}, cell)))))));
}

/** What a click opens. */
export function behind(title, ...children) {
  return h("details", {}, h("summary", {}, title), ...children);
}
