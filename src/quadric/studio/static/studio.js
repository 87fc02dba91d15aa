// The page shows what the server has computed, and tells it what was chosen.
import { chart } from "./charts.js";
import { beginAsking, follow } from "./asking.js";
import { bodyRow, button, byId, complain, element, forget, put, rewritten } from "./elements.js";
import { ask, enter, listen, tell } from "./talking.js";

// What is on the page, the newest state that is known, and requests that may still change it
let shown = null;
let newest = null;
let underway = 0;

const learn = (state) => { if (state && (!newest || state.told >= newest.told)) newest = state; };

// Nothing is drawn between quick choices: an older answer would take from under the hand what a newer choice is about to set
const request = async (path, value, isVoid) => {
  underway += 1;
  try {
    const state = await tell(path, value, isVoid);
    learn(state);
    if (state) byId("error").hidden = true;
  } catch (error) {
    forget(); // what was chosen may look as if it held
    complain(error);
  }
  underway -= 1;
  if (!underway && newest) show(newest);
};

// A slider passes many stops on its way: those that wait for their turn give way to the next one
let before = null;
const choose = (choice) => {
  const own = { kind: choice.do, isVoid: false };
  if (before && before.kind === own.kind && ["k", "cutoff"].includes(own.kind)) before.isVoid = true;
  before = own;
  return request("/do", choice, () => own.isVoid);
};

const equationLine = (part) => {
  const item = element("li", part.forced ? "forced" : "");
  for (const name of ["sign", "size", "symbol", "words"]) item.append(element("span", name, part[name]));
  if (!part.term) return item;
  const acts = element("span", "acts");
  const [text, act] = part.forced ? ["Release", "release"] : ["Force", "force"];
  acts.append(
    button(text, `${text} ${part.term}`, () => choose({ do: act, term: part.term })),
    button("Forbid", `Forbid ${part.term}`, () => choose({ do: "forbid", term: part.term })),
  );
  item.append(acts);
  return item;
};

const measureRow = (part) => bodyRow([part.name, part.fitted, part.out_of_fold || "running"]);

const tieRow = ({ out, into, price, score }) => {
  const act = element("td");
  act.append(button("Take", `Take ${into} in place of ${out}`, () => choose({ do: "swap", out, into })));
  return bodyRow([out, into, price, score || "running", act]);
};

const showTies = ({ ties, ties_words, sets }) => {
  byId("prove").disabled = !ties || sets !== null;
  put(byId("sets-words"), sets ? sets.words : "");
  byId("sets-details").hidden = !sets || !sets.best.length;
  rewritten(byId("sets"), sets ? sets.best.map(bodyRow) : []);
  byId("ties-table").hidden = !ties || !ties.length;
  const none = "No exchange of one term was found that costs less than 10 % of the objective.";
  put(byId("ties-words"), !ties ? "The folds are running." : ties.length ? ties_words : none);
  rewritten(byId("ties"), (ties || []).map(tieRow));
};

const effect = (part) => {
  const panel = chart(part.chart);
  if (part.words) panel.append(element("p", "", part.words));
  return panel;
};

const released = (term) => {
  const item = element("li", "", term);
  item.append(button("Release", `Release ${term}`, () => choose({ do: "release", term })));
  return item;
};

const step = ({ words, price }, i, at) => {
  const item = element("li", i > at ? "later" : "");
  const go = button(words, i === at ? `${words}, now` : `Go to: ${words}`, () => choose({ do: "go", step: i }));
  if (i === at) go.setAttribute("aria-current", "step");
  item.append(go, element("span", "price", price));
  return item;
};

const column = (name, isOut) => {
  const label = element("label"), box = element("input");
  box.type = "checkbox";
  box.defaultChecked = !isOut;
  box.setAttribute("aria-label", `Use the column ${name}`);
  box.addEventListener("change", () => choose({ do: "column", column: name, out: !box.checked }));
  label.append(box, element("span", "", name));
  return label;
};

const signOf = (column, signs, now) => {
  const label = element("label", "", `f with ${column}`), select = element("select");
  select.setAttribute("aria-label", `Slope of f with ${column}`);
  const options = signs.map((sign) => Object.assign(element("option", "", sign), { value: sign, defaultSelected: sign === (now || signs[0]) }));
  select.append(...options);
  select.addEventListener("change", () => choose({ do: "monotone", column, sign: select.value }));
  label.append(select);
  return label;
};

const labelTable = (table, names) => table.map((counts, i) => bodyRow([`is ${names[i]}`, ...counts.map(String)]));

// A value that is being typed, or a slider that is being drawn, is left alone until it is a choice
const EDITED = "edited";
for (const control of document.querySelectorAll("#k, #cutoff, #C")) {
  control.addEventListener("input", () => control.classList.add(EDITED));
  for (const end of ["change", "blur", "pointerup"]) control.addEventListener(end, () => control.classList.remove(EDITED));
}
const set = (id, value, text) => {
  if (byId(id).classList.contains(EDITED)) return;
  if (byId(id).value !== String(value)) byId(id).value = value;
  if (text !== undefined) byId(`${id}-output`).textContent = text;
};

const show = (state) => {
  shown = state;
  const { k, ks, rules, equation } = state;
  byId("k").max = ks.length - 1;
  set("k", ks.indexOf(k), k);
  byId("k").setAttribute("aria-valuetext", equation.heading);
  put(byId("terms-heading"), equation.heading);
  put(byId("status"), state.status);
  byId("progress").hidden = state.settled;
  put(byId("source"), state.source);
  rewritten(byId("lines"), [...equation.lines, equation.constant].map(equationLine));
  put(byId("centred"), equation.centred);
  put(byId("expanded"), equation.expanded);
  rewritten(byId("measures"), state.measures.map(measureRow));
  byId("proof").replaceChildren(...state.proof.map((text) => element("li", "", text)));
  rewritten(byId("figures"), state.figures.map((figure) => chart(figure)));
  rewritten(byId("effects"), state.effects.map(effect));
  showTies(state);
  byId("cutting").hidden = !rules.has_cutoff;
  set("cutoff", rules.cutoff, rules.cutoff.toFixed(2));
  put(byId("labels-words"), state.labels.words);
  put(byId("labels-caption"), `Rows by class and label, ${state.labels.where}`);
  byId("labels").replaceChildren(...labelTable(state.labels.table, constant.classes));
  rewritten(byId("forced"), rules.include.map(released));
  rewritten(byId("forbidden"), rules.exclude.map(released));
  set("hierarchy", rules.hierarchy);
  set("kind", rules.terms);
  set("loss", rules.loss);
  set("C", rules.C);
  rewritten(byId("signs"), constant.numbers.map((name) => signOf(name, constant.signs, rules.signs[name])));
  rewritten(byId("columns"), constant.columns.map((name) => column(name, rules.left_out.includes(name))));
  rewritten(byId("steps"), state.steps.map((one, i) => step(one, i, state.at)));
  byId("undo").disabled = state.at === 0;
  byId("redo").disabled = state.at === state.steps.length - 1;
  put(byId("command"), state.command);
  follow(state);
};

let constant = null;
const begin = (start) => {
  constant = start;
  const [other, event] = start.classes;
  put(byId("name"), start.name);
  document.title = `${start.name}: quadric studio`;
  put(byId("subject"), `f is the score of ${start.target} = ${event}. ${start.rows} rows.`);
  put(byId("cutoff-label"), `Label ${event} above this probability`);
  put(byId("label-0"), `labelled ${other}`);
  put(byId("label-1"), `labelled ${event}`);
  put(byId("folder"), `Files are written to ${start.folder}.`);
  byId("terms").replaceChildren(...start.terms.map((value) => Object.assign(element("option"), { value })));
  byId("loss").replaceChildren(...start.losses.map((name) => Object.assign(element("option", "", name), { value: name })));
  byId("file").value = start.file;
  beginAsking(request);
  learn(start.state);
  show(newest);
  byId("main").hidden = false;
};

// Nothing can be chosen: why, and how to go on
const refuse = ({ name, unfitted: { words, onward, command } }) => {
  put(byId("name"), name);
  document.title = `${name}: quadric studio`;
  put(byId("subject"), "This table cannot be fitted.");
  put(byId("skip"), "Skip to the reason");
  const again = Object.assign(element("pre", "", command), { tabIndex: 0 });
  byId("main").replaceChildren(element("p", "remark", words), element("p", "", onward), again);
  for (const id of ["undo", "redo"]) byId(id).hidden = true;
  byId("main").hidden = false;
};

const hear = (message) => {
  learn(message.state);
  if (message.state && shown && !underway) show(newest);
  if (message.source !== undefined) {
    if (newest) newest.source = message.source; // what is shown again says so, too
    put(byId("source"), message.source);
  }
  if (message.saved !== undefined) put(byId("saved"), message.saved);
  if (message.progress !== undefined) byId("progress").value = message.progress;
  if (message.error || message.end) complain(new Error(message.error || message.end));
};

const onChange = (id, choice) => byId(id).addEventListener("change", () => choose(choice(byId(id))));
const onTerm = (id) => byId(id).addEventListener("click", () => choose({ do: id, term: byId("term").value.trim() }));

byId("k").addEventListener("input", () => {
  byId("k-output").textContent = shown.ks[byId("k").valueAsNumber];
});
onChange("k", (node) => ({ do: "k", k: shown.ks[node.valueAsNumber] }));
byId("cutoff").addEventListener("input", () => { byId("cutoff-output").textContent = byId("cutoff").valueAsNumber.toFixed(2); });
onChange("cutoff", (node) => ({ do: "cutoff", cutoff: node.valueAsNumber }));
onChange("hierarchy", (node) => ({ do: "hierarchy", rule: node.value }));
onChange("kind", (node) => ({ do: "terms", kind: node.value }));
onChange("loss", (node) => ({ do: "loss", loss: node.value }));
onChange("C", (node) => ({ do: "C", C: node.valueAsNumber }));
onTerm("force");
onTerm("forbid");
byId("undo").addEventListener("click", () => choose({ do: "undo" }));
byId("redo").addEventListener("click", () => choose({ do: "redo" }));
for (const id of ["choose", "prove"]) {
  byId(id).addEventListener("click", () => { byId("progress").hidden = false; tell(`/${id}`, {}).catch(complain); });
}

// What is wider than the screen says so
const wide = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const box = target.closest(".scroll");
    box.classList.toggle("cut", box.scrollWidth > box.clientWidth + 1);
  }
});
for (const node of document.querySelectorAll(".scroll, .scroll table")) wide.observe(node);

// The bar grows with its messages; what gets the focus is never under it
new ResizeObserver(([{ target }]) => {
  document.documentElement.style.scrollPaddingTop = `${target.offsetHeight + 16}px`;
}).observe(document.querySelector(".bar"));

const saving = (path) => () => {
  put(byId("saved"), "Saving");
  tell(path, { name: byId("file").value.trim(), notes: byId("notes").value })
    .then(({ saved }) => { put(byId("saved"), saved); byId("error").hidden = true; })
    .catch((error) => { put(byId("saved"), ""); complain(error); });
};
byId("save").addEventListener("click", saving("/save"));
byId("report").addEventListener("click", saving("/report"));

try {
  await enter();
  const start = await ask("/start");
  (start.unfitted ? refuse : begin)(start);
  listen(hear);
} catch (error) {
  complain(error);
}
