import type { Schemas } from "@kule/contract/schemas";
import type { View } from "../../layout/view.ts";

type Props = { readonly view: View; readonly server: Pick<Schemas["Server"], "id" | "actions"> };

/** The way to a server's console, in a tab of its own; while there is none it says why. */
export function OpenConsole({ view, server }: Props) {
  const { open } = view.messages.consoles;
  const state = server.actions.console;
  if (state?.allowed === true)
    return (
      <a class="button" href={`/servers/${server.id}/console`} target="_blank" rel="noopener">
        {open}
      </a>
    );
  return (
    <button type="button" class="button" disabled title={state?.reason ?? undefined}>
      {open}
    </button>
  );
}
