import type { Schemas } from "@kule/contract/schemas";
import { ActButton } from "../../layout/act-button.tsx";
import type { View } from "../../layout/view.ts";
import { whyNot } from "../servers/why-not.ts";

type Props = {
  readonly view: View;
  readonly server: Pick<Schemas["Server"], "id" | "actions" | "status" | "job_id" | "locked">;
};

/** The way to a server's console, in a tab of its own; while there is none it says why. */
export function OpenConsole({ view, server }: Props) {
  const { open } = view.messages.consoles;
  const why = whyNot(view, server, "console", "server:console");
  if (why !== null) return <ActButton why={why}>{open}</ActButton>;
  return (
    <a class="button" href={`/servers/${server.id}/console`} target="_blank" rel="noopener">
      {open}
    </a>
  );
}
