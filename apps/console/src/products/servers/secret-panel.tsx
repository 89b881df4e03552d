import { Icon } from "../../layout/icons.tsx";
import { Banner, CopyButton } from "../../layout/parts.tsx";
import type { ServerTabProps } from "./props.ts";

/** The server's new password, which is shown on one page only. */
export function PasswordOnce({ view, server, consolePassword }: ServerTabProps) {
  const text = view.messages.servers.password;
  if (consolePassword === null) return null;
  if (consolePassword === "withheld") return <Banner kind="warning">{text.withheld}</Banner>;
  // Reported by the guest agent, when the guest has started.
  const isSetLater = server.image.os_family === "windows" && server.job_id !== null;
  return (
    <section class="panel secret" aria-labelledby="secret-title">
      <div class="panel-head">
        <h2 id="secret-title">
          <Icon name="keys" />
          {text.title}
        </h2>
      </div>
      <p>{text.lead}</p>
      <dl class="facts">
        <div>
          <dt>{text.user}</dt>
          <dd class="mono">{consolePassword.user}</dd>
        </div>
        <div>
          <dt>{text.label}</dt>
          <dd class="secret-text">
            <code id="console-password">{consolePassword.password}</code>
            <CopyButton view={view} source="console-password" />
          </dd>
        </div>
      </dl>
      {isSetLater ? <p class="hint">{text.setLater}</p> : null}
      <p class="hint">{text.stored}</p>
    </section>
  );
}
