import type { CalledOperation } from "../../api-operation.ts";
import { ApiCall } from "../../layout/api-call-part.tsx";
import type { View } from "../../layout/view.ts";
import type { ShowPageProps } from "./show-page.tsx";

/** Everything that this page does with a server, as calls: one for each act, with this server's own values. */
export function ServerCalls({ view, server }: Pick<ShowPageProps, "view" | "server">) {
  return (
    <section class="panel calls" aria-labelledby="calls-title">
      <div class="panel-head">
        <h2 id="calls-title">{view.messages.apiCall.acts}</h2>
      </div>
      {callsOf(view, server).map(([label, called]) => (
        <ApiCall view={view} id={`call-${called.operation}`} label={label} {...called} />
      ))}
    </section>
  );
}

function callsOf(
  { messages }: View,
  server: ShowPageProps["server"],
): readonly (readonly [label: string, called: CalledOperation])[] {
  const path = { server_id: server.id };
  const { operations, servers } = messages;
  if (server.deletion !== null)
    return [
      [messages.apiCall.read, { operation: "getServer", path }],
      [servers.undo, { operation: "cancelServerDeletion", path }],
    ];
  return [
    [messages.apiCall.read, { operation: "getServer", path }],
    [operations.power, { operation: "powerServer", path, body: { action: "reboot" } }],
    [operations.resize, { operation: "resizeServer", path, body: { package: server.package.slug } }],
    [messages.consoles.open, { operation: "openServerConsole", path, body: {} }],
    [operations.passwordTitle, { operation: "resetServerPassword", path, body: {} }],
    [messages.labels.edit, { operation: "updateServer", path, body: { labels: server.labels } }],
    [
      operations.rebuild,
      { operation: "rebuildServer", path, body: { image: server.image.slug, confirm_name: server.name } },
    ],
    [servers.delete, { operation: "deleteServer", path }],
  ];
}
