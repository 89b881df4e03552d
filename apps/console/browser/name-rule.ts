// The rules of a name are listed beside its field; each is marked as met or not met while the person types.
type Rule = (name: string) => boolean;
const rules: { readonly [name: string]: Rule | undefined } = {
  characters: (name) => /^[a-z0-9-]+$/.test(name),
  edges: (name) => !/^-|-$/.test(name),
  length: (name) => name.length <= 63,
  letter: (name) => /[a-z]/.test(name),
};

function check(input: HTMLInputElement): void {
  const list = document.getElementById(input.dataset.rules ?? "");
  for (const item of list?.querySelectorAll<HTMLElement>("[data-rule]") ?? []) {
    const rule = rules[item.dataset.rule ?? ""];
    item.dataset.state =
      input.value === "" || rule === undefined ? "open" : rule(input.value) ? "met" : "broken";
  }
}

document.addEventListener("input", (event) => {
  const input = event.target as HTMLInputElement;
  if (input.dataset?.rules !== undefined) check(input);
});
function checkAll(): void {
  for (const input of document.querySelectorAll<HTMLInputElement>("input[data-rules]")) check(input);
}
checkAll();
document.addEventListener("htmx:after:swap", checkAll);
