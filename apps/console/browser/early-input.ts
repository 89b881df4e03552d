import { attributesInForce } from "./htmx.ts";

// What was typed into a filter before htmx listened: sent again as one input event.
void attributesInForce.then(() => {
  for (const field of document.querySelectorAll<HTMLInputElement>(".filters input"))
    if (field.value !== field.defaultValue) field.dispatchEvent(new Event("input", { bubbles: true }));
});
