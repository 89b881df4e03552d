import type { OperationId } from "@kule/contract/schemas";
import { keyFingerprint } from "@kule/sealed-secret/key-fingerprint";
import pg from "pg";
import { newId, newIdBody } from "../../platform/ids.ts";
import { begunPasswordReset } from "../as-owner.ts";
import { madeUpload } from "../made-upload.ts";
import { endOpenRollout, openRollout, pausedRollout, rolledOut } from "../rollouts.ts";

import {
  addIdentity,
  addPasskey,
  addPerson,
  addSession,
  enrol,
  newPassword,
  passkeyProof,
} from "./person.ts";
import { made, type Tenant } from "./tenant.ts";
import {
  addAppliedDomain,
  addDeletedDomain,
  addDomainWithRecord,
  addFailedCertificate,
  addManagedCertificate,
  domainBody,
  standingRecord,
} from "./tenant-domains.ts";
import type { Side, TwoOrganisations } from "./two-organisations.ts";

export type PathIds = Readonly<Record<string, string>>;

/** How to call an operation so that it succeeds. */
export type Recipe = {
  /** What the path names, all of it the side's own; recreated by operations that use it up. */
  readonly path?: (side: Side, all: TwoOrganisations) => PathIds | Promise<PathIds>;
  /** A body that is right. */
  readonly body?: (side: Side, all: TwoOrganisations) => unknown | Promise<unknown>;
};

const standing =
  (
    kind:
      | "member"
      | "passkey"
      | "identity"
      | "invitation"
      | "token"
      | "ssh_key"
      | "network"
      | "server"
      | "job"
      | "ip_pool"
      | "public_ip"
      | "firewall"
      | "gateway"
      | "certificate"
      | "load_balancer"
      | "agent_rollout"
      | "domain",
  ) =>
  (side: Side): PathIds => ({ [`${kind}_id`]: side.standing[kind] });
const ownSubnet = (side: Side): PathIds => ({
  network_id: side.standing.network,
  subnet_id: side.standing.subnet,
});
const ownReservation = (side: Side): PathIds => ({
  ...ownSubnet(side),
  reservation_id: side.standing.reservation,
});
const newReservation = async ({ tenant, standing: { network, subnet } }: Side): Promise<PathIds> => ({
  network_id: network,
  subnet_id: subnet,
  reservation_id: await tenant.addReservation(network, subnet),
});
const newDomain = async ({ tenant }: Side): Promise<PathIds> => ({
  domain_id: await addAppliedDomain(tenant),
});
const newLoadBalancer = async ({ tenant, standing: { subnet } }: Side): Promise<PathIds> => ({
  load_balancer_id: (await tenant.addLoadBalancer(subnet)).load_balancer,
});
const httpsListener = (certificate: string) => ({
  protocol: "https",
  port: 443,
  certificate_ids: [certificate],
});
const ownListener = ({ standing: { load_balancer, listener } }: Side): PathIds => ({
  load_balancer_id: load_balancer,
  listener_id: listener,
});
const ownTarget = ({ standing: { load_balancer, target } }: Side): PathIds => ({
  load_balancer_id: load_balancer,
  target_id: target,
});
const ofRecord = { record_name: standingRecord.name, record_type: standingRecord.type };
const ownRecord = (side: Side): PathIds => ({ domain_id: side.standing.domain, ...ofRecord });
const newRecord = async ({ tenant }: Side): Promise<PathIds> => ({
  domain_id: await addDomainWithRecord(tenant),
  ...ofRecord,
});
const newCertificate = async ({ tenant }: Side): Promise<PathIds> => ({
  certificate_id: await tenant.addCertificate(),
});
const newManagedCertificate = async ({ tenant }: Side): Promise<PathIds> => ({
  certificate_id: await addManagedCertificate(tenant),
});
const inSubnet = (side: Side) => ({ subnet_id: side.standing.subnet });
const anyRule = (port: number) => ({ protocol: "tcp", ports: [String(port)], peers: [{ any: true }] });
const regionR1 = (): PathIds => ({ region: "r1" });
let regions = 0;
let imported = 20_999;
/** From the upper end of the region's numbers, which creates reach last. */
const nextImported = () => imported--;
/** A network of 256 addresses that no other call has: public addresses are unique in the whole installation. */
const ownNetwork = (() => {
  let networks = 0;
  return () => {
    networks += 1;
    return `100.${64 + Math.floor(networks / 256)}.${networks % 256}`;
  };
})();
/** The last server that a tenant has put behind a gateway of its own. */
const reachable = new WeakMap<Tenant, string>();
/** The name of the last server that a side has created for a rebuild: the body repeats it. */
const rebuilt = new WeakMap<Side, string>();

/**
 * One for each operation of the contract: the compiler refuses this table when one is missing, so a new operation
 * cannot escape the isolation matrix, the role matrix and the tests of mass assignment.
 */
export const recipes: { readonly [id in OperationId]: Recipe } = {
  getApiIndex: {},
  getOpenapi: {},
  getReference: {},
  getReferenceScript: {},
  getReferenceStyle: {},
  getHealth: {},
  getReadiness: {},
  login: { body: () => ({ email: "nobody@example.org", password: "wrong" }) },
  beginPasskeyLogin: { body: () => ({}) },
  loginWithPasskey: {
    body: () => ({ ceremony: "v1.none", response: { id: "none" }, sign_in: `${newId("sgn")}_of-nobody` }),
  },
  completeLogin: { body: () => ({ sign_in: `${newId("sgn")}_of-nobody`, code: "000000" }) },
  listOidcProviders: {},
  beginOidcLogin: { body: () => ({ provider: "soft" }) },
  loginWithOidc: { body: () => ({ flow: "v1.none", response: "code=none&state=none" }) },
  logout: {},
  readInvitation: { body: async ({ tenant }) => ({ secret: (await tenant.addInvitation()).secret }) },
  acceptInvitation: {
    body: async ({ tenant }) => ({
      secret: (await tenant.addInvitation()).secret,
      name: tenant.name(),
      password: "correct horse battery",
    }),
  },
  switchOrganisation: { body: ({ tenant }) => ({ organisation_id: tenant.id }) },
  listMyOrganisations: {},
  joinOrganisation: { body: async ({ tenant }) => ({ secret: (await tenant.addInvitation()).secret }) },
  getMe: {},
  listSessions: {},
  revokeOtherSessions: {},
  revokeSession: {
    path: async ({ tenant, person }, { world }) => ({
      login_session_id: await addSession(world, tenant, person),
    }),
  },
  getSecurity: {},
  proveIdentity: { body: ({ person }) => passkeyProof(person) },
  beginTotp: {},
  confirmTotp: { body: () => ({ code: "000000" }) },
  removeTotp: {},
  beginPasskey: { body: () => ({ purpose: "prove" }) },
  addPasskey: { body: () => ({ ceremony: "v1.none", name: "none", response: {} }) },
  renamePasskey: { path: standing("passkey"), body: () => ({ name: "touched" }) },
  removePasskey: { path: async ({ person }, { world }) => ({ passkey_id: await addPasskey(world, person) }) },
  beginIdentity: { body: () => ({ provider: "soft", purpose: "prove" }) },
  linkIdentity: { body: () => ({ flow: "v1.none", response: "code=none&state=none" }) },
  unlinkIdentity: {
    path: async ({ person }, { world }) => ({ identity_id: await addIdentity(world, person) }),
  },
  replaceRecoveryCodes: {},
  changePassword: { body: ({ person }) => newPassword(person.member) },
  getOrganisation: {},
  listOrganisations: {},
  createOrganisation: { body: () => ({ slug: newId("org").slice(4), name: "One more" }) },
  getOrganisationById: { path: (side) => ({ organisation_id: side.tenant.id }) },
  updateOrganisation: {
    path: (side) => ({ organisation_id: side.tenant.id }),
    body: (side) => ({ name: side.tenant.slug }),
  },
  listMembers: {},
  leaveOrganisation: { path: (side) => ({ organisation_id: side.tenant.id }) },
  getMember: { path: standing("member") },
  updateMember: { path: standing("member"), body: () => ({ role: "viewer" }) },
  createPasswordReset: { path: async ({ tenant }) => ({ member_id: (await tenant.addMember()).id }) },
  requestPasswordReset: { body: ({ tenant }) => ({ email: `${tenant.name()}@example.org` }) },
  confirmPasswordReset: {
    body: async ({ tenant }, { world }) => {
      const { userId } = await addPerson(world, tenant, "viewer");
      const secret = await begunPasswordReset(world.database.ownerUrl, userId);
      return { secret, new_password: "seven brave otters swam home" };
    },
  },
  resetSecondFactor: {
    path: async ({ tenant }, { world }) => {
      const person = await addPerson(world, tenant, "viewer");
      await enrol(person);
      return { member_id: person.member.id };
    },
  },
  removeMember: { path: async ({ tenant }) => ({ member_id: (await tenant.addMember()).id }) },
  listInvitations: {},
  createInvitation: { body: () => ({ email: `${newId("usr")}@example.org`, role: "viewer" }) },
  getInvitation: { path: standing("invitation") },
  revokeInvitation: { path: async ({ tenant }) => ({ invitation_id: (await tenant.addInvitation()).id }) },
  listTokens: {},
  createToken: { body: ({ tenant }) => ({ name: tenant.name(), role: "viewer", reason: "a proof" }) },
  getToken: { path: standing("token") },
  revokeToken: { path: async ({ tenant }) => ({ token_id: (await tenant.addToken()).id }) },
  rotateToken: {
    path: async ({ tenant }) => ({ token_id: (await tenant.addToken()).id }),
    body: () => ({ overlap_seconds: 60, reason: "a proof" }),
  },
  listAudit: {},
  verifyAudit: {},
  getCatalog: {},
  checkCatalog: { body: () => ({ region: "r1", image: "debian-12", package: "s" }) },
  listRegions: {},
  createRegion: {
    body: () => {
      regions += 1;
      return {
        slug: `more-${regions}`,
        name: "One more",
        vmid_range: { first: 100, last: 109 },
        vlan_range: { first: 100, last: 109 },
      };
    },
  },
  getRegion: { path: regionR1 },
  updateRegion: { path: regionR1, body: () => ({ name: "r1" }) },
  listAgentTokens: { path: regionR1 },
  createAgentToken: { path: regionR1, body: () => ({ name: "one more" }) },
  createEnrolment: { path: regionR1 },
  getEnrolmentAuthority: {},
  redeemEnrolment: {
    body: async (_side, { world }) => {
      const { body } = await world.operator.post("/regions/r1/enrolments");
      return { secret: body.code, name: "one more" };
    },
  },
  revokeAgentToken: {
    path: async (_side, { world }) => ({ region: "r1", token_id: await addAgentToken(world, "r1") }),
  },
  rotateAgentToken: {
    path: async (_side, { world }) => ({ region: "r1", token_id: await addAgentToken(world, "r1") }),
    body: () => ({ overlap_seconds: 60 }),
  },
  approveAgentKey: {
    path: async (_side, { world }) => ({ region: await regionWithTwoKeys(world) }),
    body: () => ({ fingerprint: keyFingerprint(pendingKey) }),
  },
  updateRegionRestore: {
    path: async (_side, { world }) => ({ region: await restoredRegion(world) }),
    body: () => ({ ended: true }),
  },
  refuseAgentKey: { path: async (_side, { world }) => ({ region: await regionWithTwoKeys(world) }) },
  getAgentReleases: {},
  getAgentUpdates: {},
  updateAgentUpdates: { body: () => ({ wait_minutes: 30 }) },
  listAgentRollouts: {},
  createAgentRollout: {
    body: async (_side, { world }) => {
      await endOpenRollout(world);
      return { version: rolledOut };
    },
  },
  getAgentRollout: { path: standing("agent_rollout") },
  pauseAgentRollout: { path: async (_side, { world }) => ({ agent_rollout_id: await openRollout(world) }) },
  resumeAgentRollout: {
    path: async (_side, { world }) => ({ agent_rollout_id: await pausedRollout(world) }),
  },
  cancelAgentRollout: { path: async (_side, { world }) => ({ agent_rollout_id: await openRollout(world) }) },
  getAgentReleaseKeys: {},
  getAgentRelease: { path: () => ({ version: rolledOut }) },
  downloadAgentRelease: { path: () => ({ version: rolledOut, architecture: "x64" }) },
  listSshKeys: {},
  createSshKey: { body: ({ tenant }) => tenant.sshKeyBody() },
  getSshKey: { path: standing("ssh_key") },
  updateSshKey: { path: standing("ssh_key"), body: () => ({ labels: { touched: "yes" } }) },
  deleteSshKey: { path: async ({ tenant }) => ({ ssh_key_id: await tenant.addSshKey() }) },
  listNetworks: {},
  createNetwork: { body: ({ tenant }) => tenant.networkBody() },
  getNetwork: { path: standing("network") },
  updateNetwork: { path: standing("network"), body: () => ({ description: "touched" }) },
  deleteNetwork: { path: async ({ tenant }) => ({ network_id: await tenant.addNetwork() }) },
  listSubnets: { path: standing("network") },
  createSubnet: {
    path: async ({ tenant }) => ({ network_id: await tenant.addNetwork() }),
    body: ({ tenant }) => tenant.subnetBody(),
  },
  getSubnet: { path: ownSubnet },
  updateSubnet: { path: ownSubnet, body: () => ({ labels: { touched: "yes" } }) },
  deleteSubnet: {
    path: async ({ tenant }) => {
      const network = await tenant.addNetwork();
      return { network_id: network, subnet_id: await tenant.addSubnet(network) };
    },
  },
  listSubnetAddresses: { path: ownSubnet },
  listReservations: { path: ownSubnet },
  createReservation: { path: ownSubnet, body: ({ tenant }) => tenant.reservationBody() },
  getReservation: { path: ownReservation },
  updateReservation: { path: ownReservation, body: () => ({ description: "touched" }) },
  deleteReservation: { path: newReservation },
  explainNetwork: {
    path: standing("network"),
    body: (side) => ({
      from: { server_id: side.standing.server },
      to: { address: "198.51.100.7" },
      protocol: "tcp",
      port: 443,
    }),
  },
  listFirewalls: {},
  createFirewall: { body: ({ tenant }) => tenant.firewallBody() },
  getFirewall: { path: standing("firewall") },
  updateFirewall: { path: standing("firewall"), body: () => ({ description: "touched" }) },
  deleteFirewall: { path: async ({ tenant }) => ({ firewall_id: await tenant.addSpareFirewall() }) },
  setFirewallRules: {
    path: async ({ tenant }) => ({ firewall_id: await tenant.addSpareFirewall() }),
    body: () => ({ rules: [anyRule(80)] }),
  },
  addFirewallRule: {
    path: async ({ tenant }) => ({ firewall_id: await tenant.addSpareFirewall() }),
    body: () => anyRule(443),
  },
  updateFirewallRule: {
    path: async (side) => {
      const { firewall, firewall_rule } = await side.tenant.addSpareUsedFirewall(inSubnet(side));
      return { firewall_id: firewall, firewall_rule_id: firewall_rule };
    },
    body: () => ({ ports: ["8443"] }),
  },
  removeFirewallRule: {
    path: async (side) => {
      const { firewall, firewall_rule } = await side.tenant.addSpareUsedFirewall(inSubnet(side));
      return { firewall_id: firewall, firewall_rule_id: firewall_rule };
    },
  },
  attachFirewall: {
    path: async ({ tenant }) => ({ firewall_id: await tenant.addSpareFirewall() }),
    body: async (side) => ({
      server_id: await side.tenant.addRunningServer({ subnet_id: side.standing.subnet }),
    }),
  },
  detachFirewall: {
    path: async (side) => {
      const { firewall, firewall_attachment } = await side.tenant.addSpareUsedFirewall(inSubnet(side));
      return { firewall_id: firewall, firewall_attachment_id: firewall_attachment };
    },
  },
  applyFirewall: {
    path: async (side) => ({
      firewall_id: (await side.tenant.addSpareUsedFirewall(inSubnet(side))).firewall,
    }),
  },
  testFirewall: {
    path: standing("firewall"),
    body: (side) => ({
      from: { address: "198.51.100.7" },
      to: { server_id: side.standing.server },
      protocol: "tcp",
      port: 443,
    }),
  },
  listDomains: {},
  createDomain: { body: ({ tenant }) => domainBody(tenant) },
  getDomain: { path: standing("domain") },
  updateDomain: { path: standing("domain"), body: () => ({ description: "touched" }) },
  deleteDomain: { path: newDomain },
  cancelDomainDeletion: { path: async ({ tenant }) => ({ domain_id: await addDeletedDomain(tenant) }) },
  verifyDomain: { path: standing("domain") },
  checkDomain: { path: standing("domain") },
  applyDomain: { path: standing("domain") },
  setDomainDnssec: { path: newDomain, body: () => ({ enabled: true }) },
  exportZoneFile: { path: standing("domain") },
  importZoneFile: { path: newDomain, body: () => ({ zone_file: "www IN A 192.0.2.10\n" }) },
  listRecordSets: { path: standing("domain") },
  getRecordSet: { path: ownRecord },
  setRecordSet: { path: newRecord, body: () => ({ values: ["192.0.2.10"] }) },
  deleteRecordSet: { path: newRecord },
  changeRecordValues: { path: newRecord, body: () => ({ add: ["192.0.2.10"] }) },
  changeRecordSets: {
    path: newDomain,
    body: () => ({ changes: [{ op: "upsert", name: "www", type: "A", values: ["192.0.2.10"] }] }),
  },
  listCertificates: {},
  createCertificate: { body: ({ tenant }) => tenant.certificateBody() },
  getCertificate: { path: standing("certificate") },
  updateCertificate: { path: standing("certificate"), body: () => ({ labels: { touched: "yes" } }) },
  deleteCertificate: { path: newCertificate },
  replaceCertificateMaterial: {
    path: newCertificate,
    body: ({ tenant }) => madeUpload([`${tenant.slug}.example`]),
  },
  renewCertificate: {
    path: async ({ tenant }) => ({ certificate_id: await addFailedCertificate(tenant) }),
  },
  getCertificateChallenges: { path: newManagedCertificate },
  listLoadBalancers: {},
  createLoadBalancer: {
    body: ({ tenant, standing: { subnet, certificate } }) =>
      tenant.loadBalancerBody(subnet, { listeners: [httpsListener(certificate)] }),
  },
  getLoadBalancer: { path: standing("load_balancer") },
  updateLoadBalancer: { path: standing("load_balancer"), body: () => ({ description: "touched" }) },
  deleteLoadBalancer: { path: newLoadBalancer },
  applyLoadBalancer: { path: newLoadBalancer },
  resizeLoadBalancer: { path: newLoadBalancer, body: () => ({ package: "m" }) },
  getLoadBalancerHealth: { path: standing("load_balancer") },
  getLoadBalancerMetrics: { path: standing("load_balancer") },
  listListeners: { path: standing("load_balancer") },
  createListener: {
    path: newLoadBalancer,
    body: ({ standing: { certificate } }) => httpsListener(certificate),
  },
  getListener: { path: ownListener },
  updateListener: {
    path: ownListener,
    body: ({ standing: { certificate } }) => httpsListener(certificate),
  },
  deleteListener: {
    path: async ({ tenant, standing: { subnet } }) => {
      const { load_balancer, listener } = await tenant.addLoadBalancer(subnet);
      return { load_balancer_id: load_balancer, listener_id: listener };
    },
  },
  listTargets: { path: standing("load_balancer") },
  createTarget: { path: newLoadBalancer, body: ({ standing: { server } }) => ({ server_id: server }) },
  updateTarget: { path: ownTarget, body: () => ({ drain: true }) },
  deleteTarget: {
    path: async ({ tenant, standing: { subnet } }) => {
      const { load_balancer, target } = await tenant.addLoadBalancer(subnet);
      return { load_balancer_id: load_balancer, target_id: target };
    },
  },
  listGateways: {},
  createGateway: { body: async ({ tenant }) => tenant.gatewayBody(await tenant.addNetwork()) },
  getGateway: { path: standing("gateway") },
  updateGateway: { path: standing("gateway"), body: () => ({ description: "touched" }) },
  deleteGateway: { path: async ({ tenant }) => ({ gateway_id: (await tenant.addGateway()).gateway }) },
  attachGatewaySubnet: {
    path: standing("gateway"),
    body: async ({ tenant, standing: { network } }) => ({ subnet_id: await tenant.addSpareSubnet(network) }),
  },
  detachGatewaySubnet: {
    path: async ({ tenant }) => {
      const { gateway, subnet } = await tenant.addGateway();
      return { gateway_id: gateway, subnet_id: subnet };
    },
  },
  listPortForwards: { path: standing("gateway") },
  createPortForward: {
    path: async ({ tenant }) => {
      const { gateway, subnet } = await tenant.addGateway();
      reachable.set(tenant, await tenant.addRunningServer({ subnet_id: subnet }));
      return { gateway_id: gateway };
    },
    body: ({ tenant, standing: { server } }) => ({
      protocol: "tcp",
      listen_port: 80,
      server_id: reachable.get(tenant) ?? server,
      description: tenant.mark,
    }),
  },
  deletePortForward: {
    path: async ({ tenant }) => {
      const { gateway, subnet } = await tenant.addGateway();
      const server = await tenant.addRunningServer({ subnet_id: subnet });
      return { gateway_id: gateway, port_forward_id: await tenant.addPortForward(gateway, server, 443) };
    },
  },
  listIpPools: {},
  createIpPool: {
    body: ({ tenant }) => ({
      region: tenant.region.slug,
      name: newId("pool"),
      gateway: `${ownNetwork()}.1`,
      prefix_length: 24,
    }),
  },
  getIpPool: { path: standing("ip_pool") },
  updateIpPool: { path: standing("ip_pool"), body: () => ({ description: "touched" }) },
  deleteIpPool: { path: async (side, { world }) => ({ ip_pool_id: await addIpPool(world, side) }) },
  listIpPoolRanges: { path: standing("ip_pool") },
  addIpPoolRange: { path: standing("ip_pool"), body: (side) => ({ cidr: side.tenant.nextPublicBlock() }) },
  removeIpPoolRange: {
    path: async (side, { world }) => ({
      ip_pool_id: side.standing.ip_pool,
      range_id: made(
        await world.operator.post(`/ip-pools/${side.standing.ip_pool}/ranges`, {
          cidr: side.tenant.nextPublicBlock(),
        }),
      ).id,
    }),
  },
  getIpPoolUtilisation: { path: standing("ip_pool") },
  listIpPoolAllocations: { path: standing("ip_pool") },
  allocateIpPoolAddresses: {
    path: standing("ip_pool"),
    body: ({ tenant }) => ({ organisation_id: tenant.id, count: 1 }),
  },
  withdrawIpPoolAddress: {
    path: async ({ tenant, standing: { ip_pool } }, { world }) => ({
      ip_pool_id: ip_pool,
      address: made(
        await world.operator.post(`/ip-pools/${ip_pool}/allocations`, {
          organisation_id: tenant.id,
          count: 1,
        }),
      ).addresses[0],
    }),
  },
  listPublicIps: {},
  createPublicIp: {
    body: ({ tenant }) => ({ region: tenant.region.slug, labels: { of: tenant.mark } }),
  },
  getPublicIp: { path: standing("public_ip") },
  updatePublicIp: { path: standing("public_ip"), body: () => ({ labels: { touched: "yes" } }) },
  attachPublicIp: {
    path: async ({ tenant }) => ({ public_ip_id: await tenant.addPublicIp() }),
    body: async (side) => ({
      server_id: await side.tenant.addRunningServer({ subnet_id: side.standing.subnet }),
    }),
  },
  detachPublicIp: {
    path: async (side) => ({ public_ip_id: await side.tenant.addAttachedPublicIp(inSubnet(side)) }),
  },
  deletePublicIp: { path: async ({ tenant }) => ({ public_ip_id: await tenant.addPublicIp() }) },
  listServers: {},
  importServer: {
    body: (side) => ({
      name: side.tenant.name(),
      region: "r1",
      vmid: nextImported(),
      image: "debian-12",
      package: "s",
      subnet_id: side.standing.subnet,
    }),
  },
  createServer: {
    body: async ({ tenant, standing: { ssh_key, subnet } }) =>
      tenant.serverBody({
        ssh_key_ids: [ssh_key],
        subnet_id: subnet,
        firewall_ids: [await tenant.firewallForServers()],
      }),
  },
  getServer: { path: standing("server") },
  updateServer: { path: standing("server"), body: () => ({ labels: { touched: "yes" } }) },
  deleteServer: {
    path: async (side) => ({ server_id: (await side.tenant.addServer(inSubnet(side))).id }),
  },
  cancelServerDeletion: {
    path: async (side) => ({ server_id: await side.tenant.addPendingServer(inSubnet(side)) }),
  },
  powerServer: {
    path: async (side) => ({ server_id: await side.tenant.addRunningServer(inSubnet(side)) }),
    body: () => ({ action: "reboot", timeout_seconds: 30, force_after: true }),
  },
  resizeServer: {
    path: async (side) => ({ server_id: await side.tenant.addRunningServer(inSubnet(side)) }),
    body: () => ({ package: "m", allow_restart: true, grow_disk: true }),
  },
  openServerConsole: {
    path: async (side) => {
      // Its region has reported, and must not have been silent since.
      await side.tenant.setEdge(true);
      return standing("server")(side);
    },
    body: () => ({ take_over: true }),
  },
  listServerConsoleSessions: { path: standing("server") },
  endServerConsoleSession: {
    // Of a server of its own: a fuzzed method may have marked the standing one for removal.
    path: async (side) => {
      const server = await side.tenant.addRunningServer(inSubnet(side));
      return { server_id: server, session_id: await side.tenant.addConsoleTicket(server) };
    },
  },
  rebuildServer: {
    path: async (side) => {
      const { id, name } = await side.tenant.addNamedServer(inSubnet(side));
      rebuilt.set(side, name);
      return { server_id: id };
    },
    body: (side) => ({
      image: "debian-13",
      confirm_name: rebuilt.get(side) ?? "nobody",
      ssh_key_ids: [side.standing.ssh_key],
    }),
  },
  resetServerPassword: {
    path: async (side) => ({ server_id: await side.tenant.addRunningServer(inSubnet(side)) }),
    body: () => ({ username: "ubuntu", when: "now" }),
  },
  lockServer: {
    path: async (side) => ({ server_id: (await side.tenant.addServer(inSubnet(side))).id }),
    body: () => ({ reason: "Abuse report 4711" }),
  },
  reconcileServer: {
    path: async (side) => ({ server_id: await side.tenant.addRunningServer(inSubnet(side)) }),
  },
  unlockServer: {
    path: async (side) => ({ server_id: (await side.tenant.addServer(inSubnet(side))).id }),
  },
  listJobs: {},
  getJob: { path: standing("job") },
  streamJobEvents: { path: standing("job") },
  cancelJob: { path: async (side) => ({ job_id: (await side.tenant.addServer(inSubnet(side))).jobId }) },
  retryJob: { path: async (side) => ({ job_id: await side.tenant.addFailedJob(inSubnet(side)) }) },
  listUsage: {},
  listUsageSegments: {},
  summariseUsage: {},
  exportUsageCsv: {},
  exportUsageNdjson: {},
  correctUsage: {
    path: ({ tenant }) => ({ organisation_id: tenant.id }),
    body: async (side) => {
      const { tenant } = side;
      const id = await tenant.addRunningServer(inSubnet(side));
      const { items } = (await tenant.owner.get(`/usage/segments?resource=${id}&kind=disk`)).body;
      return { segment: items[0].id, quantity: { disk_gb: 20 }, reason: "counted too high" };
    },
  },
  listQuotas: {},
  setQuotas: {
    path: (side) => ({ organisation_id: side.tenant.id }),
    body: () => ({ limits: { vcpu: null } }),
  },
  listOperatorJobs: {},
  listStuckJobs: {},
  listDrift: {},
  getRestore: {},
  listHeldVms: {},
  getRegionCapacity: { path: regionR1 },
  getInvariants: {},
  claimJob: {
    body: () => ({ claim_id: newId("job"), agent_version: "0.0.0", capabilities: [], wait_seconds: 0 }),
  },
  claimConsole: {
    body: () => ({ claim_id: newId("con"), agent_version: "0.0.0", wait_seconds: 0 }),
  },
  reportStep: {
    path: async (side) => ({ job_id: await side.tenant.addRunningJob(inSubnet(side)) }),
    body: () => ({ epoch: 1, seq: 1, phase: "observe" }),
  },
  reportInventory: { body: () => ({ agent_version: "0.0.0", agent_run: "00000000" }) },
  reportLoadBalancers: {
    body: ({ standing: { load_balancer, server } }) => ({
      agent_version: "0.0.0",
      reports: [
        {
          load_balancer_id: load_balancer,
          slot: 1,
          server_id: server,
          asked_after_ms: 0,
          seen_after_ms: null,
          status: null,
        },
      ],
    }),
  },
  reportHealth: {
    body: () => ({ agent_version: "0.0.0", hypervisor: { kind: "proxmox", reachable: true } }),
  },
};

async function addIpPool(world: TwoOrganisations["world"], { tenant }: Side): Promise<string> {
  const pool = await world.operator.post("/ip-pools", {
    region: tenant.region.slug,
    name: newId("pool"),
    gateway: `${ownNetwork()}.1`,
    prefix_length: 24,
  });
  return made(pool).id;
}

async function addAgentToken(world: TwoOrganisations["world"], region: string): Promise<string> {
  const minted = await world.operator.post(`/regions/${region}/agent-tokens`, { name: "one more" });
  return minted.body.token.id;
}

const firstKey = Buffer.alloc(32, 9).toString("base64");
const pendingKey = Buffer.alloc(32, 10).toString("base64");

/** A region that was scanned since the database was restored. */
async function restoredRegion(world: TwoOrganisations["world"]): Promise<string> {
  const { slug } = await world.addRegion(`back-${newIdBody()}`);
  const owner = new pg.Client({ connectionString: world.database.ownerUrl });
  await owner.connect();
  await owner.query(
    "update region set restored_at = now() - interval '1 hour', restore_scanned_at = now() where slug = $1",
    [slug],
  );
  await owner.end();
  return slug;
}

/** A region whose agent has reported another key than its first. */
async function regionWithTwoKeys(world: TwoOrganisations["world"]): Promise<string> {
  const { slug, agent } = await world.addRegion(`keys-${newIdBody()}`);
  for (const public_key of [firstKey, pendingKey])
    await agent.post("/agent/health", {
      agent_version: "0.1.0",
      hypervisor: { kind: "proxmox", reachable: true },
      public_key,
    });
  return slug;
}
