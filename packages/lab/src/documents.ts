/** The lab's state: documents in collections, replaced as a whole and never changed in place. */
export interface Collections {
  meta: MetaDocument;
  cluster: ClusterDocument;
  node: NodeDocument;
  storage: StorageDocument;
  bridge: BridgeDocument;
  vm: VmDocument;
  volume: VolumeDocument;
  pool: PoolDocument;
  task: TaskDocument;
  user: UserDocument;
  token: TokenDocument;
  role: RoleDocument;
  acl: AclDocument;
  firewall: FirewallDocument;
}
export type CollectionName = keyof Collections;

export interface MetaDocument {
  readonly boots: number;
}
export interface ClusterDocument {
  readonly name: string;
  readonly quorate: boolean;
  /** Options of datacenter.cfg that change what calls do. */
  readonly nextIdLower: number;
  readonly nextIdUpper: number;
  readonly firewallOptions: Readonly<Record<string, string>>;
}
export interface NodeDocument {
  readonly name: string;
  readonly online: boolean;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly address: string;
  /** The resource manager moves guests off it and places none on it. */
  readonly maintenance?: boolean;
}
export interface StorageDocument {
  readonly storage: string;
  readonly type: "rbd" | "dir";
  readonly shared: boolean;
  readonly content: readonly string[];
  readonly totalBytes: number;
}
export interface BridgeDocument {
  readonly iface: string;
  readonly vlanAware: boolean;
}
export interface VolumeDocument {
  readonly volid: string;
  readonly storage: string;
  readonly name: string;
  readonly vmid: number | null;
  readonly sizeBytes: number;
  readonly format: string;
  readonly content: string;
  /** Its node when the storage is not shared. */
  readonly node: string | null;
  /** The base volume of a linked clone. */
  readonly parent: string | null;
  readonly createdAt: number;
}
/** The state of the QEMU process of a running VM; absent when the VM is stopped. */
export interface VmProcess {
  readonly pid: number;
  readonly startedAt: number;
  readonly paused: boolean;
  /** When the guest's own boot began: a reset moves this one but not `startedAt`. */
  readonly guestBootAt: number;
}
export interface CloudInitDrive {
  readonly user: string;
  readonly network: string;
  readonly meta: string;
}
/** A password that the guest agent set. */
export interface GuestPassword {
  readonly at: number;
  readonly crypted: boolean;
  /** As in the guest's /etc/shadow; absent in data directories from before there were consoles. */
  readonly hash?: string;
}
export interface GuestAddress {
  readonly "ip-address": string;
  readonly "ip-address-type": "ipv4" | "ipv6";
  readonly prefix: number;
}
export interface GuestRoute {
  /** In slash notation; "0.0.0.0/0" and "::/0" are everywhere. */
  readonly to: string;
  readonly via: string;
}
/** What the guest system stores: a disk survives power cycles. */
export interface GuestMemory {
  readonly bootedInstanceId: string | null;
  readonly firstBoots: number;
  readonly passwords: Readonly<Record<string, GuestPassword>>;
  /** The system on its disk, by the name of the template it came from; absent for what was never cloned. */
  readonly system?: string;
  /** The network file that cloud-init rendered when it last found a new instance. */
  readonly rendered?: string;
  /** Network files that were written through the guest agent. */
  readonly files?: Readonly<Record<string, string>>;
  /** The addresses that the interfaces got when the network was last configured, by MAC. */
  readonly addresses?: Readonly<Record<string, readonly GuestAddress[]>>;
  /** The routes that were set with them; absent in data directories of before there were wires. */
  readonly routes?: Readonly<Record<string, readonly GuestRoute[]>>;
  /** What the guest of an appliance has been given as its state. */
  readonly appliance?: ApplianceMemory;
  /** The guest's hostname: from its cloud-init drive at a start, or as it was set since. */
  readonly hostname?: string;
}
/** The directory of the images' script kule-state. States are named "<generation>-<sha256>". */
export interface ApplianceMemory {
  /** A bundle of which parts were received, in base64. */
  readonly incoming: { readonly name: string; readonly text: string } | null;
  /** Unpacked bundles, in base64. */
  readonly states: Readonly<Record<string, string>>;
  readonly current: string | null;
  readonly applied: string | null;
  /** When the units were last told to use `current`. */
  readonly activatedAt: number;
}
export interface VmDocument {
  readonly vmid: number;
  readonly node: string;
  /** True while the file is still "# qmclone temporary file". */
  readonly temporary: boolean;
  readonly config: Readonly<Record<string, string>>;
  readonly pending: Readonly<Record<string, string>>;
  /** Keys to be unset at the next apply; true = with force. */
  readonly pendingDelete: Readonly<Record<string, boolean>>;
  /** Old values of cloud-init keys since the drive was generated; `added` lists new keys. */
  readonly cloudInitChanges: Readonly<Record<string, string>>;
  readonly process: VmProcess | null;
  readonly drive: CloudInitDrive | null;
  readonly guest: GuestMemory;
}
export interface PoolDocument {
  readonly poolid: string;
  readonly comment: string | null;
  readonly vms: readonly number[];
  readonly storages: readonly string[];
}
export interface TaskDocument {
  readonly upid: string;
  readonly node: string;
  readonly pid: number;
  readonly pstart: number;
  readonly starttime: number;
  readonly type: string;
  readonly id: string;
  /** "user@realm" or "user@realm!token". */
  readonly user: string;
  readonly log: readonly string[];
  readonly endtime: number | null;
  readonly exitstatus: string | null;
  /** The log file is gone (rotation): status and log answer "no such task". */
  readonly logMissing: boolean;
}
export interface UserDocument {
  readonly userid: string;
  readonly enable: boolean;
  readonly expire: number;
}
export interface TokenDocument {
  readonly tokenid: string;
  readonly userid: string;
  readonly privsep: boolean;
  readonly expire: number;
  /** Clear text, as in /etc/pve/priv/token.cfg. */
  readonly secret: string;
}
export interface RoleDocument {
  readonly roleid: string;
  readonly privileges: readonly string[];
  readonly special: boolean;
}
export interface AclDocument {
  readonly path: string;
  readonly type: "user" | "token";
  readonly ugid: string;
  readonly roleid: string;
  readonly propagate: boolean;
}
export type FirewallRule = Readonly<Record<string, string>>;
export interface FirewallDocument {
  readonly options: Readonly<Record<string, string>>;
  readonly rules: readonly FirewallRule[];
  readonly ipsets: Readonly<Record<string, IpSet>>;
}
export interface IpSet {
  readonly comment: string | null;
  readonly entries: readonly IpSetEntry[];
}
export interface IpSetEntry {
  readonly cidr: string;
  readonly nomatch: boolean;
  readonly comment: string | null;
}
