/* Copy buttons on claim cards, and the filter of the list of claims. Pages read well without it. */
"use strict";

function addCopyButtons() {
  for (const command of document.querySelectorAll(".claim-actions .claim-command")) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "claim-copy";
    button.textContent = "Copy";
    button.setAttribute("aria-label", `Copy: ${command.textContent}`);
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(command.textContent);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    command.after(button);
  }
}

function cellText(row, column) {
  return row.cells[column].textContent.trim();
}

function addChoice(form, rows, column, label, update) {
  const choice = document.createElement("select");
  choice.add(new Option("all", ""));
  for (const value of new Set(rows.map((row) => cellText(row, column)))) {
    choice.add(new Option(value, value));
  }
  choice.addEventListener("change", update);
  addLabelled(form, label, choice);
  return (row) => !choice.value || cellText(row, column) === choice.value;
}

function addSearch(form, label, update) {
  const field = document.createElement("input");
  field.type = "search";
  field.addEventListener("input", update);
  addLabelled(form, label, field);
  return (row) => row.textContent.toLowerCase().includes(field.value.trim().toLowerCase());
}

function addLabelled(form, text, control) {
  const label = document.createElement("label");
  label.append(text, control);
  form.append(label);
}

function addFilter(table) {
  const rows = [...table.tBodies[0].rows];
  const head = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
  const form = document.createElement("form");
  form.className = "claim-filter";
  form.addEventListener("submit", (event) => event.preventDefault());
  const shown = document.createElement("output");
  const update = () => {
    for (const row of rows) row.hidden = !tests.every((test) => test(row));
    shown.textContent = `${rows.filter((row) => !row.hidden).length} / ${rows.length}`;
  };
  const tests = [1, 2, 4].map((column) => addChoice(form, rows, column, head[column], update));
  tests.push(addSearch(form, head[3], update));
  form.append(shown);
  table.before(form);
  update();
}

document.addEventListener("DOMContentLoaded", () => {
  addCopyButtons();
  document.querySelectorAll("table.claim-index").forEach(addFilter);
});
