// Requests to the server on this machine, one at a time: a newer choice waits for the answer to the one before.
const answered = async (response) => {
  const value = await response.json().catch(() => ({}));
  if (!response.ok) throw new Error(value.error || "The server gave no answer.");
  return value;
};

const away = () => { throw new Error("The server has ended. Start quadric studio again; what was saved is there."); };

export const ask = (path) => fetch(path).catch(away).then(answered);

const posted = (path, value) =>
  fetch(path, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(value) })
    .catch(away).then(answered);

// A request that is void when its turn comes is not sent, and has no answer
let last = Promise.resolve();
export const tell = (path, value, isVoid = () => false) => {
  last = last.catch(() => {}).then(() => isVoid() ? null : posted(path, value));
  return last;
};

// The token is good for one exchange; after that the browser has the cookie
export const enter = async () => {
  const token = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
  if (token) await posted("/enter", { token });
};

export const listen = (hear) => {
  const source = new EventSource("/events");
  source.addEventListener("message", (event) => {
    const message = JSON.parse(event.data);
    if (message.end) source.close();
    hear(message);
  });
};
