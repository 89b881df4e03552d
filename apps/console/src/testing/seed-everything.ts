import { fakeEntry } from "./fake-audit.ts";
import { fakeConsoleSession } from "./fake-consoles.ts";
import { fakeAttachment, fakeFirewall } from "./fake-firewalls.ts";
import { fakeGateway } from "./fake-gateways.ts";
import { fakePublicIp } from "./fake-public-ips.ts";
import { fakeActions, fakeId, fakeJob, fakeSshKey } from "./fake-records.ts";
import { fakeAgentKeys, fakeDrift, fakeStuckJob } from "./fake-regions.ts";
import { fakeReservation } from "./fake-reservations.ts";
import type { FakeState } from "./fake-state.ts";
import { fakeToken } from "./fake-tokens.ts";
import { seedNetworks } from "./seed-networks.ts";

const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGJ5dGVzIG9mIGEga2V5IHRoYXQgbm9ib2R5IGhh ada@laptop";

/** Creates one of every resource and state with a page, so that every form and every link exists. */
export function seedEverything(state: FakeState): void {
  seedNetworks(state);
  const now = new Date().toISOString();
  const [network] = state.networks;
  const [subnet] = state.subnets;
  const [server, other, leaving] = state.servers;
  const [organisation] = state.organisations;
  if (!network || !subnet || !server || !other || !leaving || !organisation) throw new Error("no network");
  state.hasProvider = true;
  for (const region of state.regions) Object.assign(region, { agent_key: fakeAgentKeys() });
  for (const member of state.members) Object.assign(member, { second_factor: true });
  const firewall = fakeFirewall({
    name: "web",
    rules: [{ protocol: "tcp", ports: ["22"], peers: [{ any: true }], description: "SSH" }],
  });
  firewall.attachments.push(fakeAttachment(state, { server_id: server.id }));
  state.firewalls.push(firewall);
  const gateway = fakeGateway("out", network, [subnet.id], "203.0.113.77");
  state.gateways.push({ ...gateway, port_forwards: 1 });
  subnet.egress = "gateway";
  state.portForwards.push({
    id: fakeId("pf"),
    gateway_id: gateway.id,
    protocol: "tcp",
    listen_port: 443,
    server_id: server.id,
    target_address: "10.20.0.10",
    target_port: 443,
    description: "",
    status: "active",
    created_at: now,
  });
  state.reservations.push(fakeReservation(subnet, { name: "printer", address: "10.20.0.200" }));
  state.publicIps.push(fakePublicIp("203.0.113.20"));
  state.sshKeys.push(fakeSshKey({ name: "laptop", public_key: key }));
  state.consoleSessions.push(fakeConsoleSession(server));
  state.tokens.push(fakeToken({ name: "ci" }));
  state.agentTokens.push(fakeToken({ name: "agent-1", kind: "agent", role: null, region: "ist1" }));
  const failed = {
    ...fakeJob("ServerPower", other.id, "Ada"),
    action: "reboot",
    status: "failed" as const,
    done: true,
    cancellable: false,
    retryable: true,
    error: { code: "timeout", message: "The guest did not stop", retryable: true, step: "stop" },
    finished_at: now,
  };
  const running = { ...fakeJob("ServerPower", server.id, "Ada"), action: "stop" };
  state.jobs.push(running, failed);
  server.job_id = running.id;
  server.actions = fakeActions(server);
  state.changeServer(leaving.id, {
    status: "pending_deletion",
    deletion: {
      requested_at: now,
      requested_by: { type: "user", id: fakeId("usr"), name: "Ada" },
      purge_at: new Date(Date.now() + 3 * 86_400_000).toISOString(),
      restores_to: "running",
    },
  });
  for (const [action, resource] of [
    ["server.create", server.id],
    ["network.create", network.id],
    ["firewall.update", firewall.id],
    ["gateway.create", gateway.id],
  ] as const)
    state.audit.push(fakeEntry({ action, resource, organisation_id: organisation.id }));
  for (const reason of ["failed", "repeating", "not_claimed", "slow", "silent"] as const)
    state.stuckJobs.push(fakeStuckJob(reason, { id: organisation.id, name: organisation.name }));
  state.drift.push(fakeDrift("changed", 20_001), fakeDrift("extra", 20_002));
  const pool = fakeId("pool");
  state.ipPools.push({
    pool: {
      id: pool,
      region: "ist1",
      name: "public",
      description: "",
      version: 4,
      gateway: "203.0.113.1",
      prefix_length: 24,
      vlan: null,
      addresses: { total: 0, reserved: 0, free: 0, allocated: 0, taken: 0, quarantined: 0 },
      generation: 1,
      created_at: now,
      updated_at: now,
    },
    ranges: [],
    allocations: [],
  });
}
