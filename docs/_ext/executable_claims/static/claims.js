/* Copy buttons on claim cards, and the filter of the list of claims. Pages read well without it. */
"use strict";

function enableCopying(button) {
  const label = button.textContent;
  button.hidden = false;
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(button.dataset.copy);
    button.textContent = button.dataset.done;
    setTimeout(() => { button.textContent = label; }, 1500);
  });
}

function enableFilter(form) {
  const table = form.parentElement.querySelector("table.claim-index");
  const rows = [...table.tBodies[0].rows];
  const choices = [...form.querySelectorAll("select")];
  const search = form.querySelector("input");
  const shown = form.querySelector("output");
  const text = (row, column) => row.cells[column].textContent.trim();
  const columns = [1, 2, 3]; // kind, verdict, chapter: in the order of the choices
  const matches = (row) =>
    choices.every((choice, at) => !choice.selectedIndex || text(row, columns[at]) === choice.value) &&
    row.textContent.toLowerCase().includes(search.value.trim().toLowerCase());
  const update = () => {
    for (const row of rows) row.hidden = !matches(row);
    shown.textContent = `${rows.filter((row) => !row.hidden).length} / ${rows.length}`;
  };
  form.hidden = false;
  form.addEventListener("input", update);
  form.addEventListener("submit", (event) => event.preventDefault());
  update();
}

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("button.claim-copy").forEach(enableCopying);
  document.querySelectorAll("form.claim-filter").forEach(enableFilter);
});
