import type { Page } from "playwright-core";

/** Each form of a page with a text field: its action without identifiers, and its page. */
type TypedForm = { readonly action: string; readonly index: number };

const typedInto =
  "input:is([type=text], [type=email], [type=number], [type=password]):not([readonly]), textarea";

/** The forms of the page that change something and have a text field. */
export async function typedForms(page: Page): Promise<TypedForm[]> {
  return (await page.evaluate(`[...document.forms].flatMap((form, index) =>
    form.method === "post" && form.querySelector(${JSON.stringify(typedInto)}) !== null
      ? [{ action: new URL(form.action).pathname.replaceAll(/\\/[a-z]+_[0-9a-z]{10,}/g, "/*"), index }]
      : [])`)) as TypedForm[];
}

/**
 * Sends a form with invalid text in every field, which is neither a name, an address nor a number, bypassing the
 * browser's own validation.
 */
export async function sendNonsense(page: Page, index: number): Promise<void> {
  const arrived = page.waitForEvent("load");
  await page.evaluate(`{
    const form = document.forms[${index}];
    for (const field of form.querySelectorAll(${JSON.stringify(typedInto)})) {
      const nonsense = "İki ✗ kelime/çok uzun bir şey " + "o".repeat(60);
      field.type === "number" ? (field.value = "-7") : (field.value = nonsense.slice(0, field.maxLength > 0 ? field.maxLength : 200));
    }
    const button = [...form.elements].find((each) => each.type === "submit" && each.name !== "" && !each.disabled);
    if (button !== undefined) form.append(Object.assign(document.createElement("input"), { type: "hidden", name: button.name, value: button.value }));
    HTMLFormElement.prototype.submit.call(form);
  }`);
  await arrived;
}
