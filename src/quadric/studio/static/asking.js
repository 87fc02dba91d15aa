// What is asked beside the equation: one row, and two candidates side by side.
import { chart } from "./charts.js";
import { bodyRow, button, byId, complain, element, headRow, put, rewritten } from "./elements.js";
import { tell } from "./talking.js";

let asked = null;
let explained = "";

const explainRow = () => {
  const row = byId("row").valueAsNumber;
  byId("row-answer").hidden = Number.isNaN(row);
  if (Number.isNaN(row)) return;
  tell("/row", { row }).then((answer) => {
    put(byId("row-actual"), `The table says ${answer.actual}.`);
    put(byId("row-lines"), answer.lines.join("\n"));
    byId("row-values").replaceChildren(...answer.values.map(bodyRow));
  }).catch(complain);
};

const candidate = ({ name, notes }, number) => {
  const item = element("li", "", notes ? `${name} (${notes})` : name);
  item.append(button("Drop", `Drop ${name}`, () => asked("/drop", { number })));
  return item;
};

const options = (select, candidates, fallback) => {
  const before = "chosen" in select.dataset ? select.value : fallback;
  const made = [["now", "the equation on the page"], ...candidates.map(({ name }, i) => [String(i), name])];
  select.replaceChildren(...made.map(([value, text]) => Object.assign(element("option", "", text), { value })));
  select.value = made.some(([value]) => value === before) ? before : "now";
};

const chosen = (id) => byId(id).value === "now" ? null : Number(byId(id).value);

const pairOfCharts = ({ column, charts }, names) => {
  const pair = element("div", "pair");
  pair.append(element("h3", "", column));
  pair.append(...charts.map((figure, i) => {
    if (figure) return chart(figure, names[i]);
    const side = element("div", "panel");
    side.append(element("p", "small", names[i]), element("p", "absent", "not used"));
    return side;
  }));
  return pair;
};

const showComparison = (answer) => {
  byId("compared").hidden = !answer;
  if (!answer) return;
  const { names } = answer;
  put(byId("differ"), answer.differ);
  rewritten(byId("compared-terms-head"), headRow(["Term", ...names]));
  rewritten(byId("compared-terms"), answer.terms.map(bodyRow));
  put(byId("compared-measures-words"), `Measures, ${answer.where}`);
  rewritten(byId("compared-measures-head"), headRow(["Measure", ...names]));
  rewritten(byId("compared-measures"), answer.measures.map(bodyRow));
  rewritten(byId("groups-head"), headRow([...names, "rows", ...answer.classes]));
  rewritten(byId("groups"), answer.groups.map(bodyRow));
  rewritten(byId("swapped-head"), headRow(["Row", "is", ...names]));
  rewritten(byId("swapped"), answer.rows.map(bodyRow));
  rewritten(byId("compared-effects"), answer.effects.map((part) => pairOfCharts(part, names)));
};

// A new equation: what was asked is asked again
export const follow = (state) => {
  rewritten(byId("candidates"), state.candidates.map(candidate));
  options(byId("first"), state.candidates, "0");
  options(byId("second"), state.candidates, "now");
  showComparison(state.compared);
  const now = `${state.version} ${state.settled}`;
  if (now !== explained) explainRow();
  explained = now;
};

export const beginAsking = (request) => {
  asked = request;
  byId("row").addEventListener("change", explainRow);
  for (const id of ["first", "second"]) byId(id).addEventListener("change", () => { byId(id).dataset.chosen = ""; });
  byId("keep").addEventListener("click", () =>
    asked("/keep", { name: byId("candidate").value.trim(), notes: byId("why").value }));
  byId("compare").addEventListener("click", () =>
    asked("/compare", { first: chosen("first"), second: chosen("second") }));
};
