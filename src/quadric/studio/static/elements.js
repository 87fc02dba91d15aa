// Small pieces of the page. Names come from data: they reach the page as text only.
export const byId = (id) => document.getElementById(id);

// Letters that run from right to left, and marks that make others do so: alone in an element, they turn nothing around them
export const TURNING = /(\p{Bidi_Control}|[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]+)/u;
const isolated = (text, i) => i % 2 ? Object.assign(document.createElement("bdi"), { textContent: text }) : text;
export const put = (node, text) => { // the same text again is no news to who listens
  if (node.textContent !== text) node.replaceChildren(...text.split(TURNING).map(isolated));
  return node;
};

export const element = (tag, className = "", text = "") => put(Object.assign(document.createElement(tag), { className }), text);

export const button = (text, label, act) => {
  const node = element("button", "small", text);
  node.type = "button";
  node.setAttribute("aria-label", label);
  node.addEventListener("click", act);
  return node;
};

export const headRow = (names) => names.map((name) => Object.assign(element("th", "", name), { scope: "col" }));

export const bodyRow = ([head, ...cells]) => {
  const row = element("tr");
  row.append(Object.assign(element("th", "", head), { scope: "row" }));
  row.append(...cells.map((cell) => cell instanceof Node ? cell : element("td", "", cell)));
  return row;
};

export const complain = (error) => {
  put(byId("error"), error.message);
  byId("error").hidden = false;
};

// Lists are written anew only where they differ, item by item: nothing is taken from under a hand; what had the focus keeps it
let written = new WeakMap();
export const forget = () => { written = new WeakMap(); };
export const rewritten = (list, nodes) => {
  const before = written.get(list) || [], html = nodes.map((node) => node.outerHTML), old = [...list.children];
  written.set(list, html);
  const at = list.contains(document.activeElement) ? document.activeElement.getAttribute("aria-label") : null;
  nodes.forEach((node, i) => {
    if (i >= old.length) list.append(node);
    else if (html[i] !== before[i]) old[i].replaceWith(node);
  });
  for (const node of old.slice(nodes.length)) node.remove();
  if (at === null || list.contains(document.activeElement)) return;
  const same = [...list.querySelectorAll("[aria-label]")].find((node) => node.getAttribute("aria-label") === at);
  (same || list.querySelector("button") || byId("main")).focus();
};
