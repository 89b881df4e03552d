import type { Schemas } from "@kule/contract/schemas";
import { notAllowed } from "../../layout/action-button.tsx";
import { Icon } from "../../layout/icons.tsx";
import type { View } from "../../layout/view.ts";
import { disabledReason, isOwn, type ServerActionName } from "./disabled-reason.ts";
import { type SelectedServerAction, selectedServerActions } from "./selected.tsx";

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

/** The most common actions of one server, in its row. Each links to the page with its form. */
export function RowMenu({ view, server }: { readonly view: View; readonly server: Server }) {
  const { rowMenu: text } = view.messages;
  if (!isOwn(server)) return null;
  const offered = actsOf(view, server).filter(({ permission }) => notAllowed(view, permission) === null);
  if (offered.length === 0) return null;
  const acts = offered.map((act) => ({
    ...act,
    why: disabledReason(view, server, act.action, act.permission),
  }));
  return (
    <details class="menu row-menu" id={`acts-${server.id}`}>
      <summary class="button" aria-label={text.of(server.name)} title={text.title}>
        <Icon name="more" />
      </summary>
      <div class="menu-body">
        <p class="row-menu-name">{server.name}</p>
        <ul>
          {acts.map(({ label, path, action, why, isWindow }, index) =>
            why === null ? (
              <li>
                <a
                  href={path}
                  data-kind={action === "delete" ? "danger" : undefined}
                  {...(isWindow ? { target: "_blank", rel: "noopener" } : {})}
                >
                  {label}
                </a>
              </li>
            ) : (
              <li class="row-menu-off">
                {label}
                {/* A reason that several consecutive items share is shown once, below them. */}
                <small class={acts[index + 1]?.why === why ? "visually-hidden" : "why"}>{why}</small>
              </li>
            ),
          )}
        </ul>
      </div>
    </details>
  );
}

/** A server that is being deleted offers only the cancellation. */
function actsOf({ messages }: View, server: Server): readonly RowAct[] {
  const selected = (act: SelectedServerAction): RowAct => ({
    label: messages.selectionKinds.servers.acts[act],
    path: `/servers/selected?${new URLSearchParams({ act, ids: server.id })}`,
    action: selectedServerActions[act].action,
    permission: selectedServerActions[act].permission,
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
    // Where its name must be typed.
    {
      label: messages.selectionKinds.servers.acts.delete,
      path: `/servers/${server.id}/settings#delete`,
      action: "delete",
      permission: "server:delete",
    },
  ];
}
