// Before the first paint, so that no page flashes in the other theme.
(() => {
  const known = localStorage.getItem("theme");
  if (known === "light" || known === "dark") document.documentElement.dataset.theme = known;
})();
