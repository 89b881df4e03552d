import { formatIpBlock, parseIpBlock } from "../../public-ips/addresses.ts";
import type { Listener, LoadBalancerIntent, Machine } from "../intent.ts";
import { assertIntent } from "./assert-intent.ts";
import { haproxyLines } from "./haproxy-configuration.ts";
import { keepalivedLines } from "./keepalived-configuration.ts";
import { checkedText } from "./line-forms.ts";
import { type NamedServer, namedServers } from "./server-lines.ts";

export type RenderedFile = {
  /** Below the state's files, such as `haproxy/haproxy.cfg`. */
  readonly path: string;
  /** Permissions. */
  readonly mode: number;
  readonly content: string;
};

/** A guest's state, without the certificates: keys are opened in the region only. */
export type RenderedLoadBalancer = {
  readonly generation: number;
  readonly files: readonly RenderedFile[];
  readonly units: readonly { readonly name: string; readonly change: "reload" | "restart" }[];
  readonly validate: readonly string[];
  readonly check: readonly string[];
  /** Each is expected in the file `certificatePath(id)`: chain and key, PEM, mode 0600. */
  readonly certificateIds: readonly string[];
};

export const certificatePath = (certificateId: string): string => `haproxy/certificates/${certificateId}.pem`;

/**
 * Everything that one machine of a load balancer is to have. The same intent gives the same text, whatever order its
 * listeners and targets are in.
 *
 * @throws Error for an intent that validation would have refused; the error names the field, never its value
 */
export function renderLoadBalancer(intent: LoadBalancerIntent, machine: Machine): RenderedLoadBalancer {
  assertIntent(intent, machine);
  const { id, generation, highAvailability } = intent;
  const servers = namedServers(intent);
  const listeners = intent.listeners.toSorted((one, other) => one.port - other.port);
  const files = [
    file("haproxy/haproxy.cfg", haproxyLines(intent, machine, servers)),
    file("haproxy/servers", serverList(listeners, servers)),
    ...listeners.flatMap(listFiles),
    ...(highAvailability === null
      ? []
      : [file("keepalived/keepalived.conf", keepalivedLines(id, highAvailability, machine))]),
  ];
  const names = highAvailability === null ? ["haproxy.service"] : ["haproxy.service", "keepalived.service"];
  return {
    generation,
    files,
    units: names.map((name) => ({ name, change: "reload" })),
    // Not quietly: what it says is the reason of a refusal, for operators.
    validate: ["haproxy", "-c", "-f", "haproxy/haproxy.cfg"],
    check: ["/usr/local/sbin/kule-lb", "check", String(generation)],
    certificateIds: [
      ...new Set(listeners.flatMap(({ certificates }) => certificates.map((each) => each.id))),
    ].toSorted(),
  };
}

/** What the script of the image begins as down until it was checked. */
function serverList(listeners: readonly Listener[], servers: readonly NamedServer[]): string[] {
  return listeners
    .filter(({ redirectToHttps }) => !redirectToHttps)
    .flatMap((listener) => servers.map(({ name }) => `${listener.id} ${name}`));
}

function listFiles({ id, certificates, allowedCidrs }: Listener): RenderedFile[] {
  const blocks = allowedCidrs.flatMap((cidr) => {
    const block = parseIpBlock(cidr);
    return block === null ? [] : [formatIpBlock(block)];
  });
  return [
    ...(certificates.length === 0
      ? []
      : [
          file(
            `haproxy/certificates/${id}.list`,
            certificates.map((each) => [`certificates/${each.id}.pem`, ...each.domainNames].join(" ")),
          ),
        ]),
    ...(blocks.length === 0 ? [] : [file(`haproxy/cidrs/${id}.list`, blocks)]),
  ];
}

const file = (path: string, lines: readonly string[]): RenderedFile => ({
  path,
  mode: 0o600,
  content: checkedText(path, lines),
});
