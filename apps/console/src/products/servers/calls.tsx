import type { CalledOperation } from "../../api-operation.ts";
import { ApiCalls } from "../../layout/api-call-part.tsx";
import type { ShowPageProps } from "./props.ts";

/** All actions of this page as calls: one for each action, with this server's own values. */
export function ServerCalls(props: ShowPageProps) {
  const { view, server, job } = props;
  const path = { server_id: server.id };
  const ofJob: readonly CalledOperation[] = [
    ...(job?.cancellable === true ? [{ operation: "cancelJob", path: { job_id: job.id } } as const] : []),
    ...(job?.retryable === true ? [{ operation: "retryJob", path: { job_id: job.id } } as const] : []),
  ];
  const acts = server.deletion === null ? livingCalls(props) : leavingCalls(props);
  return <ApiCalls view={view} calls={[{ operation: "getServer", path }, ...ofJob, ...acts]} />;
}

function leavingCalls(props: ShowPageProps): readonly CalledOperation[] {
  const { server } = props;
  const path = { server_id: server.id };
  return [
    { operation: "cancelServerDeletion", path },
    { operation: "deleteServer", path, query: { purge: "true" } },
    { operation: "updateServer", path, body: { labels: server.labels } },
    ...attachedCalls(props),
  ];
}

function livingCalls(props: ShowPageProps): readonly CalledOperation[] {
  const { server, publicIps, firewalls, consoleSessions } = props;
  const path = { server_id: server.id };
  const free = publicIps.find((ip) => ip.region === server.region && ip.attached_to === null);
  const firewall = firewalls.find(({ region }) => region === server.region);
  const [session] = consoleSessions;
  const calls: readonly (CalledOperation | null)[] = [
    { operation: "powerServer", path, body: { action: "reboot" } },
    { operation: "resizeServer", path, body: { package: server.package.slug } },
    { operation: "openServerConsole", path, body: {} },
    session === undefined
      ? null
      : { operation: "endServerConsoleSession", path: { ...path, session_id: session.id } },
    { operation: "resetServerPassword", path, body: {} },
    { operation: "updateServer", path, body: { labels: server.labels } },
    { operation: "createPublicIp", body: { region: server.region } },
    free === undefined
      ? null
      : { operation: "attachPublicIp", path: { public_ip_id: free.id }, body: { server_id: server.id } },
    firewall === undefined
      ? null
      : { operation: "attachFirewall", path: { firewall_id: firewall.id }, body: { server_id: server.id } },
    ...attachedCalls(props),
    {
      operation: "rebuildServer",
      path,
      body: { image: server.image.slug, confirm_name: server.name },
    },
    { operation: "deleteServer", path },
  ];
  return calls.filter((call) => call !== null);
}

/** The calls that detach the first of the server's addresses, and the first of its firewalls. */
function attachedCalls({ server, firewalls }: ShowPageProps): readonly CalledOperation[] {
  const [ip] = server.public_ips;
  const [attached] = firewalls.flatMap(({ id, attachments }) =>
    attachments
      .filter(({ server_id }) => server_id === server.id)
      .map((each) => ({ id, attachment: each.id })),
  );
  const calls: readonly (CalledOperation | null)[] = [
    ip === undefined ? null : { operation: "detachPublicIp", path: { public_ip_id: ip.id } },
    attached === undefined
      ? null
      : {
          operation: "detachFirewall",
          path: { firewall_id: attached.id, firewall_attachment_id: attached.attachment },
        },
  ];
  return calls.filter((call) => call !== null);
}
