import type { Schemas } from "@kule/contract/schemas";
import { notAllowed, Offered } from "../../layout/action-button.tsx";
import { Status } from "../../layout/parts.tsx";
import type { HeadedResource } from "../../resources/resource-page.tsx";
import { OpenConsole } from "../consoles/open-part.tsx";
import { headerCalls } from "./calls.ts";
import { isOwn } from "./disabled-reason.ts";
import { PowerMenu } from "./power-menu-part.tsx";
import { servers } from "./resource.ts";
import { serverTone } from "./status.ts";

type Server = Schemas["Server"];

/** The header of a server: how to reach it, and its most common actions. */
export const headedServers: HeadedResource<Server> = {
  resource: servers,
  headOf(view, server, idempotencyKey) {
    const { messages } = view;
    const mayUpdate = isOwn(server) && server.deletion === null && notAllowed(view, "server:update") === null;
    const address = mainAddress(server);
    return {
      status: (
        <Status tone={serverTone(server.status)}>
          {messages.servers.status[server.status] ?? server.status}
        </Status>
      ),
      lead: `${server.image.name} · ${server.region}`,
      copied: [
        ...(address === null
          ? []
          : [{ id: "server-address", label: messages.servers.mainAddress, text: address }]),
        // Nobody signs in to a managed server.
        ...(address === null || server.image.os_family !== "linux" || !isOwn(server)
          ? []
          : [
              {
                id: "server-ssh",
                label: messages.servers.sshCommand,
                text: `ssh ${server.image.default_user}@${address}`,
              },
            ]),
      ],
      calls: headerCalls(server),
      acts: (
        <>
          {isOwn(server) ? (
            <Offered view={view} permission="server:console">
              <OpenConsole view={view} server={server} />
            </Offered>
          ) : null}
          {view.session?.operator === true ? (
            <a class="button" href={`/operator/servers/${server.id}/lock`}>
              {messages.serverLock.link}
            </a>
          ) : null}
          {mayUpdate ? (
            <>
              <a class="button" href={`/servers/${server.id}/resize`}>
                {messages.operations.resize}
              </a>
              <PowerMenu view={view} server={server} idempotencyKey={idempotencyKey} />
            </>
          ) : null}
        </>
      ),
    };
  },
};

/** Its first public address, or else the address of its first interface. */
function mainAddress({ public_ips: [ip], interfaces }: Server): string | null {
  if (ip !== undefined) return ip.address;
  return (interfaces.find(({ primary }) => primary) ?? interfaces[0])?.private_ip ?? null;
}
