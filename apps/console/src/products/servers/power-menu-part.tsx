import { Icon } from "../../layout/icons.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { disabledReason } from "./disabled-reason.ts";
import type { ServerTabProps } from "./props.ts";

const powerActions = ["start", "shutdown", "reboot", "stop", "reset"] as const;

/** The shutdown timeouts that can be chosen, in seconds; and the contract's default. */
const timeoutsSeconds = [30, 60, 120, 300, 600];
const defaultTimeoutSeconds = 60;

type Props = Pick<ServerTabProps, "view" | "server" | "idempotencyKey">;

/** All power actions with their effects; unavailable ones are disabled with the reason. */
export function PowerMenu({ view, server, idempotencyKey }: Props) {
  const texts = view.messages.operations;
  return (
    <details class="menu" id="power">
      <summary class="button">
        <Icon name="power" size={17} />
        {texts.power}
      </summary>
      <div class="menu-body">
        {powerActions.map((action) => {
          const why = disabledReason(view, server, action, "server:update");
          const asks = action === "shutdown" || action === "reboot";
          return (
            <form class="menu-row" method="post" action={`/servers/${server.id}/power`}>
              <FormSeal view={view} idempotencyKey={`${idempotencyKey}-${action}`} />
              <button
                type="submit"
                class="button"
                name="action"
                value={action}
                disabled={why !== null}
                aria-describedby={`power-${action}`}
              >
                {texts.actions[action]}
              </button>
              <p class="hint" id={`power-${action}`}>
                {why ?? texts.actionHints[action]}
              </p>
              {asks && why === null ? (
                <>
                  <label class="check">
                    <input type="checkbox" name="force_after" value="true" />
                    <span>{texts.force}</span>
                  </label>
                  <label class="power-timeout">
                    <span>{texts.timeout}</span>
                    <select name="timeout_seconds">
                      {timeoutsSeconds.map((seconds) => (
                        <option value={seconds} selected={seconds === defaultTimeoutSeconds}>
                          {view.format.duration(seconds * 1000)}
                        </option>
                      ))}
                    </select>
                  </label>
                </>
              ) : null}
            </form>
          );
        })}
      </div>
    </details>
  );
}
