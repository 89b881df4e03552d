import type { Schemas } from "@kule/contract/schemas";
import type { View } from "../../layout/view.ts";
import { may } from "../../session.ts";
import { selectedActNames, selectedActs } from "./selected-acts.ts";

/** The form that the boxes of the list belong to. It stands outside of the part that refreshes by itself. */
const formId = "selected";

/** A row's box. */
export function SelectBox({ view, server }: { readonly view: View; readonly server: Schemas["Server"] }) {
  return (
    <input
      type="checkbox"
      id={`choose-${server.id}`}
      name="ids"
      value={server.id}
      form={formId}
      aria-label={view.messages.selection.choose(server.name)}
    />
  );
}

/** The box that stands for all of the page; it needs the script. */
export function SelectAll({ view }: { readonly view: View }) {
  return (
    <input
      type="checkbox"
      class="with-script"
      data-choose-all={formId}
      aria-label={view.messages.selection.chooseAll}
    />
  );
}

/** What to do with the chosen servers. Leads to the page that shows what would happen. */
export function SelectionBar({ view }: { readonly view: View }) {
  const { messages, session } = view;
  const text = messages.selection;
  const offered = selectedActNames.filter(
    (name) => session === null || may(session, selectedActs[name].permission),
  );
  if (offered.length === 0) return null;
  return (
    <form id={formId} class="selection-bar" method="get" action="/servers/selected">
      <label>
        <span class="visually-hidden">{text.act}</span>
        <select name="act">
          {offered.map((name) => (
            <option value={name}>{text.acts[name]}</option>
          ))}
        </select>
      </label>
      <button type="submit" class="button">
        {text.go}
      </button>
      <p class="hint">{text.hint}</p>
    </form>
  );
}
