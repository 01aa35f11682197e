// The frame around the pages: which one is shown, the theme, the keys.
import { get } from "./api.js";
import { go, query } from "./address.js";
import { h, put } from "./dom.js";

const main = document.getElementById("main");
const PAGES = {
  "/worlds": () => import("./worlds.js"),
  "/play": () => import("./play.js"),
  "/tasks": () => import("./tasks.js"),
  "/traces": () => import("./traces.js"),
  "/runs": () => import("./runs.js"),
};
const KEYS = [
  ["1 … 5", "Worlds, Play, Tasks, Traces, Runs"],
  ["j  k", "next, previous in the list"],
  ["/", "search"],
  ["e", "jump to the first mistake (traces)"],
  ["u", "take the last call back (play)"],
  ["t", "light or dark"],
  ["?", "these keys"],
  ["Esc", "leave a field, close"],
];

let path = "";
let page = null;

async function show() {
  if (location.pathname === "/") return go(await home(), true);
  const wanted = location.pathname;
  if (wanted !== path) {
    page?.leave?.();
    path = wanted;
    mark();
    const next = await PAGES[wanted]();
    if (path !== wanted) return;
    page = next;
    put(main);
    page.mount(main);
  }
  const asked = query();
  const what = asked.id ?? asked.server ?? asked.graph ?? asked.cell ?? asked.run;
  document.title = [what, wanted.slice(1), "provegym"].filter(Boolean).join(" · ");
  try {
    await page.update(asked);
  } catch (error) {
    complain(error);
  }
}

/** The page that says most about the folder. */
async function home() {
  const { files } = await get("/api/files");
  const kinds = new Set(files.map((file) => file.kind));
  return kinds.has("traces") ? "/traces" : kinds.has("tasks") ? "/tasks" : kinds.has("curves") ? "/runs" : "/worlds";
}

function mark() {
  for (const a of document.querySelectorAll("nav a")) {
    if (a.getAttribute("href") === path) a.setAttribute("aria-current", "page");
    else a.removeAttribute("aria-current");
  }
}

export function complain(error) {
  const old = main.querySelector(":scope > .complaint");
  old?.remove();
  main.prepend(h("p", { class: "complaint", role: "alert" }, String(error.message ?? error),
    h("button", { class: "quiet", onclick: (e) => e.target.parentElement.remove() }, "close")));
}

// -- links without loading anew ------------------------------------------------------------------

document.addEventListener("click", (event) => {
  const a = event.target.closest?.("a[href]");
  const plain = event.button === 0 && !event.metaKey && !event.ctrlKey && !event.shiftKey && !event.altKey;
  if (!a || !plain || a.target || event.defaultPrevented) return;
  const url = new URL(a.href);
  if (url.origin !== location.origin || url.hash || !(url.pathname in PAGES || url.pathname === "/")) return;
  event.preventDefault();
  go(url.pathname + url.search);
});
window.addEventListener("popstate", show);
window.addEventListener("address", show);
window.addEventListener("unhandledrejection", (event) => complain(event.reason));

// -- theme and keys ------------------------------------------------------------------------------

function turn() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  localStorage.setItem("theme", root.dataset.theme);
}

const dialog = h("dialog", { class: "keys", "aria-labelledby": "keys-title" },
  h("h2", { id: "keys-title" }, "Keys"),
  h("dl", {}, KEYS.map(([key, what]) => [h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)])),
  h("form", { method: "dialog" }, h("button", {}, "Close")));
document.body.append(dialog);
document.getElementById("theme").addEventListener("click", turn);
document.getElementById("keys").addEventListener("click", () => dialog.showModal());

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.closest?.("input, textarea, select");
  if (event.key === "Escape" && typing) return typing.blur();
  if (typing || dialog.open) return;
  const tabs = Object.keys(PAGES);
  if (event.key >= "1" && event.key <= String(tabs.length)) return go(tabs[event.key - 1]);
  if (event.key === "?") return dialog.showModal();
  if (event.key === "t") return turn();
  if (event.key === "/") {
    const search = main.querySelector("input[type=search]");
    if (search) event.preventDefault();
    return search?.focus();
  }
  page?.key?.(event);
});

get("/api/files").then((told) => put(document.getElementById("where"), told.folder));
show();
