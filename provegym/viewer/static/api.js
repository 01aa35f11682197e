// Questions to the server.

/** The answer to a GET. Throws an Error with what the server said. */
export async function get(path, params = {}) {
  const asked = new URLSearchParams(Object.entries(params).filter(([, v]) => v !== undefined && v !== null && v !== ""));
  return answer(await fetch(`${path}?${asked}`));
}

/** The answer to a POST of JSON. */
export async function post(path, body = {}) {
  const headers = { "content-type": "application/json" };
  return answer(await fetch(path, { method: "POST", headers, body: JSON.stringify(body) }));
}

async function answer(response) {
  const text = await response.text();
  let told;
  try {
    told = JSON.parse(text);
  } catch {
    throw new Error(`the server answered ${response.status}`);
  }
  if (response.ok) return told;
  throw new Error(told.error?.message ?? told.error ?? `the server answered ${response.status}`);
}

/** The files of some kinds, as they are now. */
export async function filesOf(...kinds) {
  const { files } = await get("/api/files");
  return files.filter((file) => kinds.includes(file.kind));
}
