// The address of the page says all that it shows, so that a link leads back to it.

/** The parameters of the page as an object. */
export function query() {
  return Object.fromEntries(new URLSearchParams(location.search));
}

/** The link to a page with parameters; empty ones are left out. */
export function link(path, params = {}) {
  const known = Object.entries(params).filter(([, v]) => v !== undefined && v !== null && v !== "");
  const text = new URLSearchParams(known).toString();
  return text ? `${path}?${text}` : path;
}

/** The link to this page with some parameters changed. */
export function here(changes) {
  return link(location.pathname, { ...query(), ...changes });
}

/** Go somewhere without loading anew; `replace` leaves no step for the way back. */
export function go(target, replace = false) {
  history[replace ? "replaceState" : "pushState"](null, "", target);
  window.dispatchEvent(new Event("address"));
}
