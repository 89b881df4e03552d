import type { Schemas } from "@kule/contract/schemas";
import type { CalledOperation } from "../../api-operation.ts";
import { isOwn } from "./disabled-reason.ts";
import type { ConsoleTabProps, NetworkTabProps, OverviewProps, SettingsTabProps } from "./props.ts";

const pathOf = ({ server }: { readonly server: { readonly id: string } }) => ({ server_id: server.id });

/** The actions of the header as calls, with this server's own values. */
export function headerCalls(server: Schemas["Server"]): readonly CalledOperation[] {
  const path = pathOf({ server });
  return [
    { operation: "getServer", path },
    ...(server.deletion === null && isOwn(server)
      ? ([
          { operation: "powerServer", path, body: { action: "reboot" } },
          { operation: "resizeServer", path, body: { package: server.package.slug } },
          { operation: "openServerConsole", path, body: {} },
        ] as const)
      : []),
  ];
}

/** The actions of the overview as calls. */
export function overviewCalls(props: OverviewProps): readonly CalledOperation[] {
  const { server, job } = props;
  return [
    ...(job?.cancellable === true ? [{ operation: "cancelJob", path: { job_id: job.id } } as const] : []),
    ...(job?.retryable === true ? [{ operation: "retryJob", path: { job_id: job.id } } as const] : []),
    ...(server.deletion === null || !isOwn(server) ? [] : cancellationCalls(props)),
  ];
}

/** The addresses and firewalls of the server as calls. */
export function networkCalls(props: NetworkTabProps): readonly CalledOperation[] {
  const { server, publicIps, firewalls } = props;
  if (!isOwn(server)) return [];
  const free = publicIps.find((ip) => ip.region === server.region && ip.attached_to === null);
  const firewall = firewalls.find(({ region }) => region === server.region);
  const [ip] = server.public_ips;
  const [attached] = firewalls.flatMap(({ id, attachments }) =>
    attachments
      .filter(({ server_id }) => server_id === server.id)
      .map((each) => ({ id, attachment: each.id })),
  );
  const calls: readonly (CalledOperation | null)[] = [
    server.deletion === null ? { operation: "createPublicIp", body: { region: server.region } } : null,
    free === undefined || server.deletion !== null
      ? null
      : { operation: "attachPublicIp", path: { public_ip_id: free.id }, body: { server_id: server.id } },
    ip === undefined ? null : { operation: "detachPublicIp", path: { public_ip_id: ip.id } },
    firewall === undefined || server.deletion !== null
      ? null
      : { operation: "attachFirewall", path: { firewall_id: firewall.id }, body: { server_id: server.id } },
    attached === undefined
      ? null
      : {
          operation: "detachFirewall",
          path: { firewall_id: attached.id, firewall_attachment_id: attached.attachment },
        },
  ];
  return calls.filter((call) => call !== null);
}

/** The console and its password as calls. */
export function consoleCalls(props: ConsoleTabProps): readonly CalledOperation[] {
  const path = pathOf(props);
  const [session] = props.consoleSessions;
  return [
    { operation: "listServerConsoleSessions", path },
    ...(props.server.deletion === null && isOwn(props.server)
      ? [{ operation: "resetServerPassword", path, body: {} } as const]
      : []),
    ...(session === undefined
      ? []
      : [{ operation: "endServerConsoleSession", path: { ...path, session_id: session.id } } as const]),
  ];
}

/** Its name, labels, protection, rebuild and deletion as calls. */
export function settingsCalls(props: SettingsTabProps): readonly CalledOperation[] {
  const { server } = props;
  const path = pathOf(props);
  if (!isOwn(server)) return [];
  return [
    { operation: "updateServer", path, body: { labels: server.labels } },
    ...(server.deletion === null
      ? ([
          {
            operation: "rebuildServer",
            path,
            body: { image: server.image.slug, confirm_name: server.name },
          },
          { operation: "deleteServer", path },
        ] as const)
      : cancellationCalls(props)),
  ];
}

function cancellationCalls(props: OverviewProps | SettingsTabProps): readonly CalledOperation[] {
  const path = pathOf(props);
  return [
    { operation: "cancelServerDeletion", path },
    { operation: "deleteServer", path, query: { purge: "true" } },
  ];
}
