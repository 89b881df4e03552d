import type { OperationId } from "@kule/contract/schemas";

/** A list of an organisation, and the lists of each of its items. */
export type ExportedList = {
  /** Its name in the export. */
  readonly name: string;
  readonly operation: OperationId;
  readonly query?: Readonly<Record<string, string>>;
  readonly ofEach?: readonly (ExportedList & {
    /** The parameter of the path that takes the item's id. */
    readonly parameter: string;
  })[];
};

/** Everything that an organisation has, as the API lists it. */
export const exportedLists: readonly ExportedList[] = [
  { name: "members", operation: "listMembers" },
  { name: "invitations", operation: "listInvitations" },
  { name: "tokens", operation: "listTokens" },
  { name: "ssh_keys", operation: "listSshKeys" },
  {
    name: "networks",
    operation: "listNetworks",
    ofEach: [
      {
        name: "subnets",
        operation: "listSubnets",
        parameter: "network_id",
        ofEach: [{ name: "reservations", operation: "listReservations", parameter: "subnet_id" }],
      },
    ],
  },
  { name: "firewalls", operation: "listFirewalls" },
  {
    name: "gateways",
    operation: "listGateways",
    ofEach: [{ name: "port_forwards", operation: "listPortForwards", parameter: "gateway_id" }],
  },
  { name: "public_ips", operation: "listPublicIps" },
  { name: "servers", operation: "listServers" },
  { name: "managed_servers", operation: "listServers", query: { managed: "true" } },
  {
    name: "domains",
    operation: "listDomains",
    ofEach: [{ name: "records", operation: "listRecordSets", parameter: "domain_id" }],
  },
  { name: "certificates", operation: "listCertificates" },
  {
    name: "load_balancers",
    operation: "listLoadBalancers",
    ofEach: [
      { name: "listeners", operation: "listListeners", parameter: "load_balancer_id" },
      { name: "targets", operation: "listTargets", parameter: "load_balancer_id" },
    ],
  },
  { name: "jobs", operation: "listJobs" },
  { name: "usage_segments", operation: "listUsageSegments" },
  { name: "audit", operation: "listAudit" },
];

/** Lists of an organisation that the export does without. */
export const leftOutLists: Readonly<Partial<Record<OperationId, string>>> = {
  listSubnetAddresses: "each address is with the server, gateway or reservation that has it",
  listServerConsoleSessions: "their begins and ends are in the audit trail",
  listUsage: "the segments are made of these events",
  summariseUsage: "a sum of the segments",
};
