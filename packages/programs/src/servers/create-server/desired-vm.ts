// Everything about the VM of a new server, computed from the job and the region's settings alone. After a
// clone the VM has all that its template has: unwanted settings are named here too, with null.

import type { PayloadOf } from "@kule/contract/schemas";
import type { DesiredConfig, Owner } from "@kule/proxmox/hypervisor";
import { renderMarker } from "@kule/proxmox/marker";
import { renderNetDevice } from "@kule/proxmox/property-string";
import { CLOUD_INIT_USER, encodeSshKeys } from "@kule/proxmox/ssh-keys";
import { renderTags, TAG_PATTERN } from "@kule/proxmox/tags";
import type { DesiredFirewall } from "@kule/proxmox/vm-firewall";
import { Failed } from "../../errors.ts";
import { desiredFirewall, type FilteredPayload } from "../../firewalls/desired-firewall.ts";
import type { Job, World } from "../../program.ts";
import { type RegionSettings, targetNodeFor, templateVmidFor } from "../../region-settings.ts";
import type { GuestUser } from "../guest-password.ts";
import { ipConfigs, publicNetDevice } from "../public-interface.ts";

export type DesiredVm = {
  readonly jobId: string;
  readonly vmid: number;
  readonly owner: Owner;
  readonly name: string;
  readonly description: string;
  readonly pool: string;
  readonly templateVmid: number;
  readonly targetNode: string | null;
  readonly tags: readonly string[];
  readonly diskBytes: number;
  readonly config: DesiredConfig;
  /**
   * The user that the guest agent sets once the guest runs; null for a guest that finds its password on its
   * drive, or has none.
   */
  readonly guestUser: GuestUser | null;
  readonly firewall: DesiredFirewall;
  /** The payload that the firewall was computed from. */
  readonly filtered: FilteredPayload;
  readonly running: boolean;
};

const GIB = 2 ** 30;
/** Without a nameserver of its own a guest gets the node's: resolving nothing is better than leaking that. */
const NO_DNS = "127.0.0.1";
/** Windows needs an upper-case name. */
const WINDOWS_USER = /^[A-Za-z][A-Za-z0-9_-]{0,19}$/;

type CreateJob = Job<PayloadOf<"ServerCreate">>;

export function poolOf(settings: RegionSettings, pool: string): string {
  return pool.replace(/^kule(?=-)/, settings.poolPrefix);
}

/**
 * Throws Failed when the region does not have the image or the job contains a value that no guest may get.
 */
export function desiredVm(job: CreateJob, world: Pick<World, "settings" | "openSecret">): DesiredVm {
  const { payload } = job;
  const { settings } = world;
  const { server, vmid } = payload;
  const templateVmid = templateVmidFor(settings, payload.template, vmid, payload.node ?? null);
  if (templateVmid === null)
    throw new Failed({
      code: "template_missing",
      message: `The region has no image ${payload.template}.`,
      internal: `the region file of ${settings.region} has no template for ${payload.template}`,
    });
  return {
    jobId: job.id,
    vmid,
    owner: { serverId: server.id, region: settings.region },
    name: server.name,
    description: renderMarker({
      serverId: server.id,
      organisationId: server.organisation_id,
      region: settings.region,
      jobId: job.id,
    }),
    pool: poolOf(settings, payload.pool),
    templateVmid,
    targetNode: payload.node ?? targetNodeFor(settings, vmid),
    tags: payload.tags,
    diskBytes: payload.package.disk_gb * GIB,
    config: { ...hardware(job, settings), ...housekeeping(job), ...cloudInit(job, settings) },
    guestUser: guestUser(payload, world.openSecret),
    firewall: desiredFirewall(payload),
    filtered: payload,
    running: payload.start,
  };
}

function hardware({ payload }: CreateJob, settings: RegionSettings): DesiredConfig {
  const networks = payload.interfaces.map(
    ({ mac, vlan }, index) =>
      [
        `net${index}`,
        renderNetDevice({
          model: "virtio",
          mac,
          bridge: settings.bridge,
          vlan,
          firewall: true,
          extra: new Map(),
        }),
      ] as const,
  );
  const outside = publicNetDevice(payload, settings);
  return {
    sockets: "1",
    cores: String(payload.package.vcpu),
    vcpus: null,
    cpulimit: null,
    cpuunits: null,
    memory: String(payload.package.memory_mb),
    balloon: "0",
    ...Object.fromEntries(networks),
    ...outside,
    // The text console needs it; Windows has a screen instead.
    ...(payload.os_family === "linux" ? { serial0: "socket" } : {}),
  };
}

function housekeeping({ payload }: CreateJob): DesiredConfig {
  const odd = payload.tags.find((tag) => !TAG_PATTERN.test(tag));
  if (odd !== undefined || payload.tags.length === 0)
    throw new Failed({
      code: "invalid_payload",
      message: "The server cannot be marked in the region.",
      internal: `${JSON.stringify(odd ?? "")} cannot be a tag; without its tags a server is never known to be complete`,
    });
  return {
    name: payload.server.name,
    tags: renderTags(payload.tags),
    onboot: "1",
    autostart: null,
    // A late copy of a rebuild's DELETE would find another VM with the number: this makes the hypervisor
    // refuse it.
    protection: "1",
    startup: null,
    hookscript: null,
    agent: "enabled=1",
  };
}

function cloudInit({ payload }: CreateJob, settings: RegionSettings): DesiredConfig {
  const linux = payload.os_family === "linux";
  if (!(linux ? CLOUD_INIT_USER : WINDOWS_USER).test(payload.default_user))
    throw new Failed({
      code: "invalid_payload",
      message: "The image's login name cannot be used.",
      internal: `${JSON.stringify(payload.default_user)} would change the meaning of cloud-init's YAML`,
    });
  if (linux && payload.password_hash !== null && !payload.password_hash.startsWith("$6$"))
    throw new Failed({
      code: "invalid_payload",
      message: "The generated password cannot be used.",
      internal: "password_hash is no $6$ crypt hash; Proxmox would take it for the password itself",
    });
  const servers = [...new Set(payload.interfaces.flatMap((each) => each.dns_servers))];
  const domain = payload.interfaces.map((each) => each.search_domain).find((each) => each !== "");
  return {
    // The drive's format follows the system type: NoCloud for Linux, ConfigDrive for Windows.
    citype: null,
    // Snippets of the template would replace ours.
    cicustom: null,
    ciuser: payload.default_user,
    // It stays in the config. Taking it out after the first boot would change the user-data's hash, which is the
    // instance id: cloud-init would start over at the next boot and make new host keys. For Windows it would be there in
    // clear, for every user of the guest to read: the guest's agent sets it instead (ADR 0029).
    cipassword: linux ? payload.password_hash : null,
    sshkeys: linux && payload.ssh_public_keys.length > 0 ? encodeSshKeys(payload.ssh_public_keys) : null,
    ...ipConfigs(payload),
    nameserver: servers.length > 0 ? servers.join(" ") : NO_DNS,
    searchdomain: domain ?? `${settings.region}.internal`,
    // Without egress the upgrade at first boot only waits for time-outs.
    ciupgrade: payload.egress ? "1" : "0",
  };
}

/** The server's id is the context, so that a sealed password cannot be put into another server's job. */
function guestUser(payload: PayloadOf<"ServerCreate">, openSecret: World["openSecret"]): GuestUser | null {
  const { os_family, sealed_password: sealed, start, default_user: name } = payload;
  // A guest that does not run cannot be given a password.
  if (os_family === "linux" || sealed === null || !start) return null;
  try {
    return { name, password: openSecret(sealed, payload.server.id), crypted: false };
  } catch (cause) {
    throw new Failed(
      {
        code: "password_unreadable",
        message: "The generated password did not reach the region. Delete the server and create it again.",
        internal: `the sealed password does not open with this agent's key: ${cause instanceof Error ? cause.message : cause}`,
      },
      { cause },
    );
  }
}
