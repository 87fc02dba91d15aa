
"use strict";
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const byId = (id) => document.getElementById(id);

  // Names of features come from data: they reach the page as text only, never as markup
  const element = (tag, className, text) => {
    const node = document.createElement(tag);
    node.className = className;
    node.textContent = text;
    return node;
  };

  const line = (part) => {
    const item = document.createElement("li");
    for (const name of ["sign", "size", "symbol", "words"]) item.append(element("span", name, part[name]));
    return item;
  };

  const cell = (part, size) => {
    const rect = document.createElementNS(SVG, "rect");
    const title = document.createElementNS(SVG, "title");
    const attributes = { class: part.shade, x: part.x, y: part.y, width: size, height: size };
    for (const [name, value] of Object.entries(attributes)) rect.setAttribute(name, value);
    title.textContent = part.title;
    rect.append(title);
    return rect;
  };

  const moveMark = (name, [x, y]) => {
    byId(name + "-upright").setAttribute("transform", `translate(${x} 0)`);
    byId(name + "-marker").setAttribute("cx", x);
    byId(name + "-marker").setAttribute("cy", y);
  };

  const show = (stop) => {
    byId("k-output").textContent = stop.k;
    byId("k").setAttribute("aria-valuetext", stop.heading);
    byId("stop-heading").textContent = stop.heading;
    byId("status").textContent = stop.status;
    byId("lines").replaceChildren(...stop.lines.map(line));
    byId("centred").textContent = stop.centred;
    byId("expanded").textContent = stop.expanded;
    byId("cells").replaceChildren(...stop.cells.map((part) => cell(part, byId("cells").dataset.size)));
    byId("facts").querySelectorAll("dd").forEach((node, i) => { node.textContent = stop.facts[i]; });
    byId("sentences").replaceChildren(...stop.sentences.map((text) => element("li", "", text)));
    moveMark("accuracy", stop.marks[0]);
    moveMark("objective", stop.marks[1]);
  };

  const connect = (stops) => {
    const slider = byId("k");
    slider.addEventListener("input", () => show(stops[slider.valueAsNumber]));
    byId("jumps").addEventListener("click", (event) => {
      const button = event.target.closest("button");
      if (!button) return;
      slider.value = stops.findIndex((stop) => stop.k === Number(button.dataset.k));
      show(stops[slider.valueAsNumber]);
    });
    document.documentElement.classList.add("js");
  };

  if (byId("stops")) connect(JSON.parse(byId("stops").textContent));

  // What is wider than the screen says so
  const wide = new ResizeObserver((entries) => {
    for (const { target } of entries) target.classList.toggle("cut", target.scrollWidth > target.clientWidth + 1);
  });
  for (const node of document.querySelectorAll(".scroll")) wide.observe(node);

  // Paper has no switches: print with everything unfolded
  let folded = [];
  window.addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    for (const node of folded) node.open = true;
  });
  window.addEventListener("afterprint", () => { for (const node of folded) node.open = false; });
})();
