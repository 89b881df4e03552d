import { createHash, randomBytes } from "node:crypto";
import type { Schemas } from "@kule/contract/schemas";
import { actionsOf } from "@kule/rules/servers/lifecycle";

/** An identifier in the API's format. */
export function fakeId(prefix: string): string {
  return `${prefix}_${randomBytes(16).toString("hex").slice(0, 26)}`;
}

export const fakeCatalog: Schemas["Catalog"] = (() => {
  const packages: Schemas["Package"][] = [
    { slug: "s", vcpu: 1, memory_mb: 2048, disk_gb: 40 },
    { slug: "m", vcpu: 2, memory_mb: 4096, disk_gb: 80 },
    { slug: "l", vcpu: 4, memory_mb: 8192, disk_gb: 160 },
    { slug: "xl", vcpu: 6, memory_mb: 16_384, disk_gb: 240 },
    { slug: "xxl", vcpu: 8, memory_mb: 32_768, disk_gb: 400 },
    { slug: "xxxl", vcpu: 12, memory_mb: 65_536, disk_gb: 640 },
  ];
  const image = (
    slug: string,
    name: string,
    family: "linux" | "windows",
    distribution: string,
    version: string,
    user: string,
    regions: string[],
  ): Schemas["Image"] => ({
    slug,
    name,
    os_family: family,
    distribution,
    version,
    min_memory_mb: family === "windows" ? 4096 : 1024,
    min_disk_gb: family === "windows" ? 80 : 10,
    default_user: user,
    console: family === "windows" ? "vnc" : "serial",
    // The specification leaves s and m out for Windows, although m has exactly the memory that Windows needs.
    packages_allowed: packages
      .filter(({ slug: size }) => family === "linux" || (size !== "s" && size !== "m"))
      .map(({ slug: size }) => size),
    regions,
  });
  return {
    images: [
      image("ubuntu-24.04", "Ubuntu 24.04 LTS", "linux", "ubuntu", "24.04", "ubuntu", ["ist1", "ank1"]),
      image("debian-13", "Debian 13", "linux", "debian", "13", "debian", ["ist1", "ank1"]),
      image("rocky-10", "Rocky Linux 10", "linux", "rocky", "10", "rocky", ["ist1"]),
      image("windows-2025", "Windows Server 2025", "windows", "windows", "2025", "Administrator", ["ist1"]),
    ],
    packages: packages.map((each) => ({
      ...each,
      regions: [{ slug: "ist1", available: true, reason: null }],
    })),
    regions: [
      { slug: "ist1", name: "İstanbul 1", country: "TR", status: "ok", status_since: null },
      { slug: "ank1", name: "Ankara 1", country: "TR", status: "unreachable", status_since: null },
    ],
  };
})();

/** The actions that a server permits in this state, by the API's own table. */
export function fakeActions(
  server: Pick<Schemas["Server"], "protection" | "status" | "job_id" | "locked" | "image">,
): Schemas["Server"]["actions"] {
  return actionsOf({
    status: server.status,
    deleteProtected: server.protection.delete,
    rebuildProtected: server.protection.rebuild,
    wasCreated: server.status !== "creating",
    openJob: server.job_id === null ? null : { kind: "ServerPower", action: null, isWaiting: false },
    agentAnswers: null,
    passwordByAgentOnly: server.image.os_family === "windows",
    lockedFor: server.locked?.reason ?? null,
  });
}

export function fakeServer(
  body: Schemas["ServerCreate"],
  network: Schemas["Network"],
  index: number,
): Schemas["Server"] {
  const image = fakeCatalog.images.find(({ slug }) => slug === body.image);
  const size = fakeCatalog.packages.find(({ slug }) => slug === body.package);
  if (image === undefined || size === undefined)
    throw new Error("a fake server needs a known image and package");
  const subnet = network.subnets.find(({ id }) => id === body.subnet_id) ?? network.subnets[0];
  const now = new Date().toISOString();
  const server = {
    id: fakeId("srv"),
    name: body.name,
    hostname: body.name,
    region: body.region ?? "ist1",
    status: "creating" as const,
    status_reason: null,
    power_state: "unknown" as const,
    image: {
      slug: image.slug,
      name: image.name,
      os_family: image.os_family,
      default_user: image.default_user,
    },
    package: { slug: size.slug, vcpu: size.vcpu, memory_mb: size.memory_mb, disk_gb: size.disk_gb },
    ssh_key_ids: body.ssh_key_ids ?? [],
    interfaces: [
      {
        id: fakeId("nic"),
        subnet_id: subnet?.id ?? "",
        network_id: network.id,
        private_ip: body.private_ip ?? `10.0.0.${10 + index}`,
        mac: `0a:4b:75:00:00:${(16 + index).toString(16)}`,
        primary: true,
      },
    ],
    public_ips: [],
    firewall_ids: body.firewall_ids ?? [],
    labels: body.labels ?? {},
    protection: { delete: false, rebuild: false, ...body.protection },
    disk_gb: size.disk_gb,
    locked: null,
    console: { types: [image.console] },
    deletion: null,
    job_id: null,
    generation: 1,
    observed_generation: 0,
    observation: "fresh" as const,
    guest: null,
    drift: null,
    observed_at: null,
    created_at: now,
    updated_at: now,
  };
  return { ...server, actions: fakeActions(server) };
}

export function fakeJob(kind: Schemas["JobKind"], serverId: string, user: string): Schemas["Job"] {
  return {
    id: fakeId("job"),
    kind,
    action: null,
    status: "queued",
    done: false,
    region: "ist1",
    // The fake API sets the current name when it answers.
    resource: { type: "server", id: serverId, name: null },
    phase: null,
    progress: 0,
    steps: [],
    error: null,
    attempt: 0,
    max_attempts: 8,
    next_attempt_at: null,
    cancellable: true,
    cancel_requested: false,
    retryable: false,
    requested_by: { type: "user", id: fakeId("usr"), name: user },
    request_id: crypto.randomUUID(),
    queued_behind: null,
    created_at: new Date().toISOString(),
    started_at: null,
    finished_at: null,
  };
}

export function fakeSshKey(body: Schemas["SshKeyCreate"]): Schemas["SshKey"] {
  const [type = "", blob = "", ...comment] = body.public_key.trim().split(/\s+/);
  const digest = createHash("sha256").update(Buffer.from(blob, "base64")).digest("base64").replace(/=+$/, "");
  const now = new Date().toISOString();
  return {
    id: fakeId("key"),
    name: body.name,
    public_key: `${type} ${blob}`,
    fingerprint_sha256: `SHA256:${digest}`,
    fingerprint_md5: Array.from(createHash("md5").update(blob).digest(), (byte) =>
      byte.toString(16).padStart(2, "0"),
    ).join(":"),
    type: type === "ssh-rsa" ? "rsa" : "ed25519",
    bits: type === "ssh-rsa" ? 3072 : 256,
    comment: comment.join(" "),
    labels: body.labels ?? {},
    used_by_servers: [],
    used_by_server_count: 0,
    created_by: { type: "user", id: "usr_fake", name: "Ada" },
    last_used_at: null,
    generation: 1,
    created_at: now,
    updated_at: now,
  };
}

export function usageOf(total: number, used: number, reserved = 0): Schemas["AddressUsage"] {
  return {
    addresses_total: total,
    addresses_used: used,
    addresses_quarantined: 0,
    addresses_reserved: reserved,
    addresses_free: total - used - reserved,
  };
}

export function fakeNetwork(body: Schemas["NetworkCreate"], isDefault: boolean): Schemas["Network"] {
  const now = new Date().toISOString();
  return {
    id: fakeId("net"),
    name: body.name,
    region: body.region ?? "ist1",
    cidr: body.cidr ?? "10.0.0.0/16",
    description: body.description ?? "",
    is_default: isDefault,
    status: "active",
    subnets: [],
    usage: usageOf(253, 0),
    labels: body.labels ?? {},
    generation: 1,
    observed_generation: 1,
    created_at: now,
    updated_at: now,
  };
}

export function fakeSubnet(body: Schemas["SubnetCreate"], network: Schemas["Network"]): Schemas["Subnet"] {
  const now = new Date().toISOString();
  return {
    id: fakeId("sub"),
    network_id: network.id,
    name: body.name,
    region: network.region,
    tier: body.tier,
    cidr: body.cidr ?? `10.0.${network.subnets.length}.0/24`,
    gateway_ip: `10.0.${network.subnets.length}.1`,
    dns_servers: body.dns_servers ?? [],
    egress: body.tier === "data" ? "forbidden" : "none",
    vlan: null,
    status: "active",
    usage: usageOf(253, 3),
    labels: body.labels ?? {},
    generation: 1,
    observed_generation: 1,
    created_at: now,
    updated_at: now,
  };
}
