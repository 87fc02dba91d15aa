// Pictures that Python has drawn, as elements. Names in them come from data: they reach the page as text only.
import { element, TURNING } from "./elements.js";

const SVG = "http://www.w3.org/2000/svg";

const made = (tag, attributes = {}, text = "") => {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text) node.append(text);
  return node;
};

// what bdi is in HTML
const isolated = (text, i) => i % 2 ? made("tspan", { class: "isolated" }, text) : text;

const shape = ({ tag, attributes, text, title }) => {
  const node = made(tag, attributes);
  if (text) node.append(...text.split(TURNING).map(isolated));
  if (title) node.prepend(made("title", {}, title));
  return node;
};

const key = (kind) => {
  const node = made("svg", { class: "key", viewBox: "0 0 24 12", "aria-hidden": "true" });
  const first = kind.split(" ")[0];
  if (first === "mark" || first === "marker") node.append(made("circle", { class: kind, cx: 12, cy: 6, r: 5 }));
  else if (first === "bar") node.append(made("rect", { class: kind, x: 4, y: 1, width: 16, height: 10 }));
  else node.append(made("path", { class: kind, d: "M2 6H22" }));
  return node;
};

const legendLine = ([kind, text]) => {
  const item = document.createElement("li");
  item.append(key(kind), element("span", "", text));
  return item;
};

export const chart = (figure, caption = figure.title) => {
  const { id, title, description, legend, width, height, shapes } = figure;
  const svg = made("svg", {
    class: "chart", width, height, viewBox: `0 0 ${width} ${height}`, role: "img",
    "aria-labelledby": `${id}-title ${id}-desc`,
  });
  svg.append(made("title", { id: `${id}-title` }, title), made("desc", { id: `${id}-desc` }, description), ...shapes.map(shape));
  const panel = document.createElement("figure");
  panel.className = "panel";
  panel.append(element("figcaption", "", caption), svg);
  if (legend.length) {
    const list = document.createElement("ul");
    list.className = "legend";
    list.append(...legend.map(legendLine));
    panel.append(list);
  }
  return panel;
};
