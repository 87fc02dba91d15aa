// The page shows what the server has computed, and tells it what was chosen.
import { chart } from "./charts.js";
import { beginAsking, follow } from "./asking.js";
import { bodyRow, button, byId, complain, element, forget, rewritten } from "./elements.js";
import { ask, enter, listen, tell } from "./talking.js";

let shown = null;

const choose = (choice) => tell("/do", choice).then(show).catch((error) => {
  forget(); // what was clicked may look as if it held
  if (shown) show(shown);
  complain(error);
});

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
  byId("sets-words").textContent = sets ? sets.words : "";
  byId("sets-details").hidden = !sets || !sets.best.length;
  rewritten(byId("sets"), sets ? sets.best.map(bodyRow) : []);
  byId("ties-table").hidden = !ties || !ties.length;
  byId("ties-words").textContent = !ties ? "The folds are running." : ties.length ? "" : "No exchange of one term was found that costs less than 10 % of the objective.";
  if (ties && ties.length) byId("ties-words").textContent = ties_words;
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

const set = (id, value) => { if (document.activeElement !== byId(id)) byId(id).value = value; };

const showSource = (text) => { if (byId("source").textContent !== text) byId("source").textContent = text; };

const show = (state, keepsError = false) => {
  if (!keepsError) byId("error").hidden = true;
  if (shown && state.told < shown.told) return;
  shown = state;
  const { k, ks, rules, equation } = state;
  byId("k").max = ks.length - 1;
  byId("k").value = ks.indexOf(k);
  byId("k").setAttribute("aria-valuetext", equation.heading);
  byId("k-output").textContent = k;
  byId("terms-heading").textContent = equation.heading;
  byId("status").textContent = state.status;
  byId("progress").hidden = state.settled;
  showSource(state.source);
  rewritten(byId("lines"), [...equation.lines, equation.constant].map(equationLine));
  byId("centred").textContent = equation.centred;
  byId("expanded").textContent = equation.expanded;
  rewritten(byId("measures"), state.measures.map(measureRow));
  byId("proof").replaceChildren(...state.proof.map((text) => element("li", "", text)));
  rewritten(byId("figures"), state.figures.map(chart));
  rewritten(byId("effects"), state.effects.map(effect));
  showTies(state);
  byId("cutting").hidden = !rules.has_cutoff;
  byId("cutoff").value = rules.cutoff;
  byId("cutoff-output").textContent = rules.cutoff.toFixed(2);
  byId("labels-words").textContent = state.labels.words;
  byId("labels-caption").textContent = `Rows by class and label, ${state.labels.where}`;
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
  byId("command").textContent = state.command;
  follow(state);
};

let constant = null;
const begin = (start) => {
  constant = start;
  const [other, event] = start.classes;
  byId("name").textContent = start.name;
  document.title = `${start.name}: quadric studio`;
  byId("subject").textContent = `f is the score of ${start.target} = ${event}. ${start.rows} rows.`;
  byId("cutoff-label").textContent = `Label ${event} above this probability`;
  byId("label-0").textContent = `labelled ${other}`;
  byId("label-1").textContent = `labelled ${event}`;
  byId("folder").textContent = `Files are written to ${start.folder}.`;
  byId("terms").replaceChildren(...start.terms.map((value) => Object.assign(element("option"), { value })));
  byId("loss").replaceChildren(...start.losses.map((name) => Object.assign(element("option", "", name), { value: name })));
  byId("file").value = start.file;
  beginAsking(show);
  show(start.state);
  byId("main").hidden = false;
};

const hear = (message) => {
  if (message.state && shown) show(message.state, true);
  if (message.source !== undefined) showSource(message.source);
  if (message.saved) byId("saved").textContent = message.saved;
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
byId("undo").addEventListener("click", () => choose({ do: "go", step: shown.at - 1 }));
byId("redo").addEventListener("click", () => choose({ do: "go", step: shown.at + 1 }));
for (const id of ["choose", "prove"]) {
  byId(id).addEventListener("click", () => { byId("progress").hidden = false; tell(`/${id}`, {}).catch(complain); });
}

const saving = (path) => () => {
  byId("saved").textContent = "Saving";
  tell(path, { name: byId("file").value.trim(), notes: byId("notes").value })
    .then(({ saved }) => { byId("saved").textContent = saved; byId("error").hidden = true; })
    .catch((error) => { byId("saved").textContent = ""; complain(error); });
};
byId("save").addEventListener("click", saving("/save"));
byId("report").addEventListener("click", saving("/report"));

try {
  await enter();
  begin(await ask("/start"));
  listen(hear);
} catch (error) {
  complain(error);
}
