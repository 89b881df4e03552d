import type { Schemas } from "@kule/contract/schemas";
import { ActionButton } from "../../layout/action-button.tsx";
import type { View } from "../../layout/view.ts";
import { disabledReason } from "../servers/disabled-reason.ts";

type Props = {
  readonly view: View;
  readonly server: Pick<Schemas["Server"], "id" | "actions" | "status" | "job_id" | "locked" | "managed_by">;
};

/** The link to a server's console, which opens in a new tab; the reason when it is unavailable. */
export function OpenConsole({ view, server }: Props) {
  const { open } = view.messages.consoles;
  const why = disabledReason(view, server, "console", "server:console");
  if (why !== null) return <ActionButton why={why}>{open}</ActionButton>;
  return (
    <a class="button" href={`/servers/${server.id}/console`} target="_blank" rel="noopener">
      {open}
    </a>
  );
}
