// The checkbox in the head of a list checks those of all rows. Checked rows stay checked when the list refreshes
// itself.
const boxesOf = (form: string) =>
  document.querySelectorAll<HTMLInputElement>(`input[type=checkbox][name=ids][form="${CSS.escape(form)}"]`);

document.addEventListener("change", (event) => {
  const box = event.target as HTMLInputElement;
  const form = box.dataset.chooseAll;
  if (form !== undefined) for (const each of boxesOf(form)) each.checked = box.checked;
  else if (box.name === "ids") showAll();
});
document.addEventListener("htmx:after:swap", showAll);

function showAll(): void {
  for (const all of document.querySelectorAll<HTMLInputElement>("input[data-choose-all]")) {
    const boxes = [...boxesOf(all.dataset.chooseAll ?? "")];
    const ticked = boxes.filter(({ checked }) => checked).length;
    all.checked = ticked > 0 && ticked === boxes.length;
    all.indeterminate = ticked > 0 && ticked < boxes.length;
  }
}
