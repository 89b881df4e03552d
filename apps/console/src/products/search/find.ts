import type { ApiClient } from "@kule/contract/client";
import { attempt, type Outcome } from "../../api.ts";
import { may, type Session } from "../../session.ts";

export type FoundKind = "server" | "network" | "firewall" | "gateway" | "public_ip" | "ssh_key" | "job";

/** A resource, as a line that leads to its page. */
export type Found = {
  readonly kind: FoundKind;
  readonly name: string;
  /** What tells two of a name apart: an address, a region, a status. */
  readonly detail: string;
  readonly path: string;
};

export type FindAnswer = {
  readonly found: readonly Found[];
  /** Whether a kind could not be asked for, so that nothing found does not mean nothing there. */
  readonly isPartial: boolean;
};

/** Of each kind; who looks for more has the kind's own list. */
const mostOfAKind = 6;

/**
 * Resources of the session's organisation whose name, label or address holds the text, or whose identifier it is. Asks for
 * what the session's role may read alone.
 */
export async function findResources(api: ApiClient, session: Session, text: string): Promise<FindAnswer> {
  if (text === "" || session.organisation === null) return { found: [], isPartial: false };
  const isId = /^[a-z0-9]{2,4}_[a-z0-9]{26}$/.test(text);
  const answers = await Promise.all(isId ? [byId(api, text)] : matching(api, session, text));
  return {
    found: answers.flatMap((answer) => answer ?? []),
    isPartial: answers.some((answer) => answer === null),
  };
}

type Answer = Promise<readonly Found[] | null>;

function matching(api: ApiClient, session: Session, text: string): Answer[] {
  const params = { query: { q: text, limit: mostOfAKind } };
  const asks: readonly (readonly [string, () => Answer])[] = [
    [
      "server:read",
      () =>
        found(api.GET("/servers", { params }), ({ items }) =>
          items.map(({ id, name, region, interfaces, public_ips: [ip] }) => ({
            kind: "server",
            name,
            detail: ip?.address ?? interfaces.find(({ primary }) => primary)?.private_ip ?? region,
            path: `/servers/${id}`,
          })),
        ),
    ],
    [
      "network:read",
      () =>
        found(api.GET("/networks", { params }), ({ items }) =>
          items.map(({ id, name, cidr }) => ({
            kind: "network",
            name,
            detail: cidr,
            path: `/networks/${id}`,
          })),
        ),
    ],
    [
      "firewall:read",
      () =>
        found(api.GET("/firewalls", { params }), ({ items }) =>
          items.map(({ id, name, region }) => ({
            kind: "firewall",
            name,
            detail: region,
            path: `/firewalls/${id}`,
          })),
        ),
    ],
    [
      "gateway:read",
      () =>
        found(api.GET("/gateways", { params }), ({ items }) =>
          items.map(({ id, name, public_ip: ip }) => ({
            kind: "gateway",
            name,
            detail: ip.address,
            path: `/gateways/${id}`,
          })),
        ),
    ],
    [
      "public_ip:read",
      () =>
        found(api.GET("/public-ips", { params }), ({ items }) =>
          items.map(({ id, address, region }) => ({
            kind: "public_ip",
            name: address,
            detail: region,
            path: `/public-ips/${id}`,
          })),
        ),
    ],
    [
      "ssh_key:read",
      () =>
        found(api.GET("/ssh-keys", { params }), ({ items }) =>
          items.map(({ name, fingerprint_sha256: fingerprint }) => ({
            kind: "ssh_key",
            name,
            detail: fingerprint,
            path: "/ssh-keys",
          })),
        ),
    ],
  ];
  return asks.filter(([permission]) => may(session, permission)).map(([, ask]) => ask());
}

function byId(api: ApiClient, id: string): Answer {
  const [prefix] = id.split("_");
  switch (prefix) {
    case "srv":
      return found(api.GET("/servers/{server_id}", { params: { path: { server_id: id } } }), (server) => [
        { kind: "server", name: server.name, detail: server.region, path: `/servers/${id}` },
      ]);
    case "net":
      return found(api.GET("/networks/{network_id}", { params: { path: { network_id: id } } }), (network) => [
        { kind: "network", name: network.name, detail: network.cidr, path: `/networks/${id}` },
      ]);
    case "fw":
      return found(
        api.GET("/firewalls/{firewall_id}", { params: { path: { firewall_id: id } } }),
        (firewall) => [
          { kind: "firewall", name: firewall.name, detail: firewall.region, path: `/firewalls/${id}` },
        ],
      );
    case "gw":
      return found(api.GET("/gateways/{gateway_id}", { params: { path: { gateway_id: id } } }), (gateway) => [
        {
          kind: "gateway",
          name: gateway.name,
          detail: gateway.public_ip.address,
          path: `/gateways/${id}`,
        },
      ]);
    case "ip":
      return found(
        api.GET("/public-ips/{public_ip_id}", { params: { path: { public_ip_id: id } } }),
        (ip) => [{ kind: "public_ip", name: ip.address, detail: ip.region, path: `/public-ips/${id}` }],
      );
    case "key":
      return found(api.GET("/ssh-keys/{ssh_key_id}", { params: { path: { ssh_key_id: id } } }), (key) => [
        { kind: "ssh_key", name: key.name, detail: key.fingerprint_sha256, path: "/ssh-keys" },
      ]);
    case "job":
      return found(api.GET("/jobs/{job_id}", { params: { path: { job_id: id } } }), (job) => [
        { kind: "job", name: id, detail: job.kind, path: `/jobs/${id}` },
      ]);
    default:
      return Promise.resolve([]);
  }
}

/** Null when nobody answered; nothing when there is none, or none that this role may see. */
async function found<Data>(
  call: Parameters<typeof attempt<Data>>[0],
  lines: (data: Data) => readonly Found[],
): Answer {
  const outcome: Outcome<Data> = await attempt(call);
  if (outcome.kind === "done") return lines(outcome.data);
  return outcome.kind === "away" ? null : [];
}
