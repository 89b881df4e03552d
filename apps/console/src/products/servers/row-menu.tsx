import type { Schemas } from "@kule/contract/schemas";
import { notAllowed } from "../../layout/act-button.tsx";
import { Icon } from "../../layout/icons.tsx";
import type { View } from "../../layout/view.ts";
import { type SelectedServerAct, selectedServerActs } from "./selected-servers.tsx";
import { type ServerActionName, whyNot } from "./why-not.ts";

type Server = Schemas["Server"];
type RowAct = {
  readonly label: string;
  readonly path: string;
  readonly action: ServerActionName;
  readonly permission: string;
  /** The console has a window of its own. */
  readonly isWindow?: true;
};

const powerActs = ["start", "shutdown", "reboot", "stop"] as const;

/** What is wanted most of one server, in its row. Each leads to the page where it is asked for. */
export function RowMenu({ view, server }: { readonly view: View; readonly server: Server }) {
  const { rowMenu: text } = view.messages;
  const offered = actsOf(view, server).filter(({ permission }) => notAllowed(view, permission) === null);
  if (offered.length === 0) return null;
  const acts = offered.map((act) => ({
    ...act,
    why: whyNot(view, server, act.action, act.permission),
  }));
  return (
    <details class="menu row-menu" id={`acts-${server.id}`}>
      <summary class="button" aria-label={text.of(server.name)} title={text.title}>
        <Icon name="more" />
      </summary>
      <div class="menu-body">
        <p class="row-menu-name">{server.name}</p>
        <ul>
          {acts.map(({ label, path, why, isWindow }, index) =>
            why === null ? (
              <li>
                <a href={path} {...(isWindow ? { target: "_blank", rel: "noopener" } : {})}>
                  {label}
                </a>
              </li>
            ) : (
              <li class="row-menu-off">
                {label}
                {/* Of several that follow each other it is seen once, below them. */}
                <small class={acts[index + 1]?.why === why ? "visually-hidden" : "why"}>{why}</small>
              </li>
            ),
          )}
        </ul>
      </div>
    </details>
  );
}

/** What is on its way out has its way back, and nothing else to be asked for. */
function actsOf({ messages }: View, server: Server): readonly RowAct[] {
  const selected = (act: SelectedServerAct): RowAct => ({
    label: messages.selectionKinds.servers.acts[act],
    path: `/servers/selected?${new URLSearchParams({ act, ids: server.id })}`,
    action: selectedServerActs[act].action,
    permission: selectedServerActs[act].permission,
  });
  if (server.deletion !== null) return [selected("restore")];
  return [
    {
      label: messages.consoles.open,
      path: `/servers/${server.id}/console`,
      action: "console",
      permission: "server:console",
      isWindow: true,
    },
    ...powerActs.map(selected),
    {
      label: messages.operations.resize,
      path: `/servers/${server.id}/resize`,
      action: "resize",
      permission: "server:update",
    },
    // Where its name has to be typed.
    {
      label: messages.selectionKinds.servers.acts.delete,
      path: `/servers/${server.id}#danger`,
      action: "delete",
      permission: "server:delete",
    },
  ];
}
