import type { Secret } from "./secret.ts";

/** First and last number, both included. */
export type NumberRange = { readonly first: number; readonly last: number };

/** Exactly one way to authenticate the hypervisor. `ca` is the PEM text. */
export type HypervisorTls =
  | { readonly fingerprints: readonly string[] }
  | { readonly ca: string }
  | { readonly system: true };

export type EdgeTransport =
  | { readonly transport: "local" }
  | {
      readonly transport: "ssh";
      readonly host: string;
      readonly port: number;
      readonly user: string;
      readonly key: Secret;
      /** `SHA256:` and base64, of the only host that may be sent anything. */
      readonly hostKey: string;
    };

export type Edge = EdgeTransport & {
  readonly kind: "linux";
  readonly uplink: { readonly interface: string };
  readonly trunk: { readonly interface: string; readonly mode: "vlan" | "bridge" };
};

/** One template for the region, or one on each node. */
export type RegionTemplate =
  | { readonly vmid: number }
  | { readonly vmidByNode: Readonly<Record<string, number>> };

/** A region file that has been checked: defaults filled in, ranges as numbers, secrets and files read. */
export type RegionFile = {
  /** Absolute. */
  readonly path: string;
  readonly region: string;
  readonly controlPlane: {
    /** The versioned root, without a slash at the end. */
    readonly url: string;
    readonly token: Secret;
  };
  readonly hypervisor: {
    readonly kind: "proxmox";
    readonly endpoints: readonly string[];
    /** USER@REALM!NAME=SECRET */
    readonly token: Secret;
    readonly tls: HypervisorTls;
    readonly poolPrefix: string;
    readonly vmidRange: NumberRange;
    /** Null: on the template's node. */
    readonly targetNodes: readonly string[] | null;
    readonly clone: "full" | "linked";
    /** Until what was written to a VM's firewall is in force. */
    readonly firewallRoundSeconds: number;
    /** Whether every node has Kule's filter of guests' frames, by its operator. */
    readonly hasNodeFilter: boolean;
  };
  readonly storage: { readonly disks: string; readonly cloudinit: string };
  readonly network: {
    readonly bridge: string;
    readonly vlanRange: NumberRange;
    /** `vlan` null: untagged. */
    readonly public: { readonly bridge: string; readonly vlan: number | null } | null;
  };
  /** Image slug to template. */
  readonly templates: Readonly<Record<string, RegionTemplate>>;
  readonly edge: Edge | null;
  readonly agent: {
    /** Null: the machine's host name. */
    readonly name: string | null;
    readonly concurrency: number;
    readonly healthSeconds: number;
    readonly inventorySeconds: number;
    /** Absolute. */
    readonly stateDirectory: string;
  };
};

/** The file as parsed by YAML and valid by the schema, with defaults. */
export type RegionDocument = {
  region: string;
  control_plane: string | { url: string; token_env?: string; token_file?: string };
  hypervisor: {
    kind: "proxmox";
    endpoints: string[];
    token_env?: string;
    token_file?: string;
    tls: { fingerprints?: string[]; ca?: string; system?: true };
    pool_prefix: string;
    vmid_range: string;
    target_nodes?: string[];
    clone: "full" | "linked";
    firewall_round_seconds: number;
    node_filter: boolean;
  };
  storage: { disks: string; cloudinit?: string };
  network: { bridge: string; vlan_range: string; public?: { bridge: string; vlan?: number } };
  templates: Record<string, { vmid: number } | { vmid_by_node: Record<string, number> }>;
  edge?: {
    kind: "linux";
    transport: "ssh" | "local";
    host?: string;
    port?: number;
    user?: string;
    host_key?: string;
    key_env?: string;
    key_file?: string;
    uplink: { interface: string };
    trunk: { interface: string; mode: "vlan" | "bridge" };
  };
  agent?: {
    name?: string;
    concurrency: number;
    health_seconds: number;
    inventory_seconds: number;
    state_dir?: string;
  };
};
