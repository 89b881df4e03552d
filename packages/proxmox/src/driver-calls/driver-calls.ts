// Every call that the driver can make, with its properties. The client makes no other and sends no other
// parameter; the types of the calls, the roles of the runbook and of the lab, the preflight and the
// conformance suite are generated from it. A privilege that is missing here is one that no operator is asked
// to grant.

import type { CallName } from "../generated/api.ts";
import type { CallFacts, Encoding, ErrorName, Need, Parameter, Privilege, Scope } from "./call-facts.ts";

const need =
  (on: Scope, how: Need["for"] = "call") =>
  (privilege: Privilege): Need => ({ on, privilege, for: how });
const guest = need("guest");

const plain =
  (as: Encoding) =>
  (needs: readonly Need[] = []): Parameter => ({ as, needs });
const text = plain("text");
const number = plain("number");
const flag = plain("flag");
const list = plain("list");

const call = (
  parameters: Readonly<Record<string, Parameter>>,
  needs: readonly Need[],
  answer: CallFacts["answer"],
  refusals: readonly ErrorName[] = [],
): CallFacts => ({ parameters, needs, answer, refusals });

const node = { node: text() };
const vm = { ...node, vmid: number() };
const digest = { digest: text() };
const see = [guest("VM.Audit")];
const power = [guest("VM.PowerMgmt")];
const network = [guest("VM.Config.Network")];
const agent = [guest("VM.GuestAgent.Unrestricted")];
const screen = [guest("VM.Console")];

const cpu = text([guest("VM.Config.CPU")]);
const memory = text([guest("VM.Config.Memory")]);
const option = text([guest("VM.Config.Options")]);
const cloudInit = text([guest("VM.Config.Cloudinit")]);
/** The settings of a server's config; deleting a key needs the same privilege as setting it. */
const config = {
  ...vm,
  ...digest,
  delete: text(),
  sockets: cpu,
  cores: cpu,
  vcpus: cpu,
  cpulimit: cpu,
  cpuunits: cpu,
  memory,
  balloon: memory,
  name: option,
  description: option,
  tags: option,
  onboot: option,
  autostart: option,
  protection: option,
  agent: option,
  "net[n]": text([...network, need("bridge")("SDN.Use")]),
  "serial[n]": text([guest("VM.Config.HWType")]),
  "ipconfig[n]": cloudInit,
  ciuser: cloudInit,
  cipassword: cloudInit,
  ciupgrade: cloudInit,
  sshkeys: cloudInit,
  nameserver: cloudInit,
  searchdomain: cloudInit,
} satisfies Record<string, Parameter>;

const rule = {
  type: text(),
  action: text(),
  proto: text(),
  dport: text(),
  source: text(),
  dest: text(),
  iface: text(),
  comment: text(),
  enable: number(),
};

const VM = "/nodes/{node}/qemu/{vmid}" as const;
const STORAGE = "/nodes/{node}/storage" as const;
const TASKS = "/nodes/{node}/tasks" as const;

const GONE = ["ProxmoxNotFound"] as const;
const CHANGED = ["ProxmoxConflict"] as const;
const NO_AGENT = ["ProxmoxAgentUnavailable"] as const;

export const DRIVER_CALLS = {
  "GET /version": call({}, [], "data", ["ProxmoxUnauthorized"]),
  "GET /access/permissions": call({ path: text() }, [], "data"),
  // Called without its parameters: whether it is refused as incomplete or as unknown shows whether tokens get
  // consoles.
  "POST /access/vncticket": call({}, [], "nothing", ["ProxmoxBadRequest", "ProxmoxUnsupported"]),

  "GET /cluster/nextid": call({ vmid: number() }, [], "data", ["ProxmoxExists"]),
  "GET /cluster/options": call({}, [need("cluster", "view")("Sys.Audit")], "data"),
  "GET /cluster/resources": call(
    { type: text() },
    [
      need("guest", "view")("VM.Audit"),
      need("template", "view")("VM.Audit"),
      need("storage", "view")("Datastore.Audit"),
    ],
    "data",
  ),
  "GET /cluster/firewall/options": call({}, [need("cluster")("Sys.Audit")], "data"),

  "GET /nodes": call({}, [need("node", "view")("Sys.Audit")], "data"),
  "GET /nodes/{node}/network": call({ ...node, type: text() }, [need("bridge", "view")("SDN.Use")], "data"),
  [`GET ${STORAGE}`]: call(
    { ...node, content: text() },
    [need("storage", "view")("Datastore.Audit")],
    "data",
  ),
  [`GET ${STORAGE}/{storage}/content`]: call(
    { ...node, storage: text(), vmid: number() },
    [need("storage")("Datastore.Audit"), need("storage", "view")("Datastore.AllocateSpace")],
    "data",
  ),
  [`DELETE ${STORAGE}/{storage}/content/{volume}`]: call(
    { ...node, storage: text(), volume: text() },
    [need("storage", "withheld")("Datastore.Allocate")],
    "task",
    ["ProxmoxForbidden"],
  ),
  [`GET ${TASKS}`]: call(
    { ...node, source: text(), vmid: number(), typefilter: text(), limit: number() },
    [],
    "data",
  ),
  [`GET ${TASKS}/{upid}/log`]: call({ ...node, upid: text(), start: number(), limit: number() }, [], "data", [
    "ProxmoxTaskLost",
  ]),
  [`GET ${TASKS}/{upid}/status`]: call({ ...node, upid: text() }, [], "data", ["ProxmoxTaskLost"]),

  "GET /pools": call({}, [need("pool", "view")("Pool.Audit")], "data"),
  "PUT /pools": call(
    { poolid: text(), vms: text([guest("VM.Allocate")]), "allow-move": flag(), delete: flag() },
    [need("pool")("Pool.Allocate")],
    "nothing",
  ),
  "POST /pools": call({ poolid: text(), comment: text() }, [need("pool")("Pool.Allocate")], "nothing"),
  // Called by the conformance suite only, which removes what it has created.
  "DELETE /pools": call({ poolid: text() }, [need("pool")("Pool.Allocate")], "nothing"),

  [`POST ${VM}/clone`]: call(
    {
      ...vm,
      newid: number(),
      name: text(),
      description: text(),
      pool: text([need("pool")("VM.Allocate")]),
      full: flag(),
      storage: text(),
      target: text(),
    },
    // The bridges are those of the template's interfaces.
    [need("template")("VM.Clone"), need("storage")("Datastore.AllocateSpace"), need("bridge")("SDN.Use")],
    "task",
    ["ProxmoxExists", "ProxmoxForbidden", "ProxmoxBadRequest"],
  ),
  [`DELETE ${VM}`]: call(
    { ...vm, purge: flag(), "destroy-unreferenced-disks": flag() },
    [guest("VM.Allocate")],
    "task",
    ["ProxmoxNotFound", "ProxmoxRunning", "ProxmoxProtected", "ProxmoxForbidden"],
  ),
  [`GET ${VM}/config`]: call(vm, [...see, need("template")("VM.Audit")], "data", GONE),
  [`GET ${VM}/pending`]: call(vm, see, "data", GONE),
  [`GET ${VM}/status/current`]: call(vm, see, "data", GONE),
  [`POST ${VM}/config`]: call(config, [], "task", [
    "ProxmoxConflict",
    "ProxmoxBadRequest",
    "ProxmoxForbidden",
  ]),
  [`GET ${VM}/cloudinit`]: call(vm, see, "data", GONE),
  [`PUT ${VM}/cloudinit`]: call(vm, [guest("VM.Config.Cloudinit")], "nothing", GONE),
  [`PUT ${VM}/resize`]: call(
    { ...vm, disk: text(), size: text(), ...digest },
    [guest("VM.Config.Disk"), need("storage")("Datastore.AllocateSpace")],
    "task",
    ["ProxmoxConflict", "ProxmoxAlready"],
  ),
  [`POST ${VM}/status/start`]: call(vm, power, "task", ["ProxmoxAlready"]),
  [`POST ${VM}/status/stop`]: call({ ...vm, "overrule-shutdown": flag() }, power, "task", GONE),
  [`POST ${VM}/status/shutdown`]: call({ ...vm, timeout: number(), forceStop: flag() }, power, "task", GONE),
  [`POST ${VM}/status/reset`]: call(vm, power, "task", ["ProxmoxAlready"]),

  [`GET ${VM}/agent/network-get-interfaces`]: call(vm, agent, "data", NO_AGENT),
  [`GET ${VM}/agent/get-osinfo`]: call(vm, agent, "data", NO_AGENT),
  [`GET ${VM}/agent/get-host-name`]: call(vm, agent, "data", NO_AGENT),
  [`POST ${VM}/agent/exec`]: call({ ...vm, command: list(), "input-data": text() }, agent, "data", NO_AGENT),
  [`GET ${VM}/agent/exec-status`]: call({ ...vm, pid: number() }, agent, "data", NO_AGENT),
  [`POST ${VM}/agent/set-user-password`]: call(
    { ...vm, username: text(), password: text(), crypted: flag() },
    agent,
    "data",
    NO_AGENT,
  ),

  [`POST ${VM}/termproxy`]: call({ ...vm, serial: text() }, screen, "data"),
  [`POST ${VM}/vncproxy`]: call({ ...vm, websocket: flag(), "generate-password": flag() }, screen, "data"),
  [`GET ${VM}/vncwebsocket`]: call({ ...vm, port: number(), vncticket: text() }, screen, "socket", [
    "ProxmoxNodeUnreachable",
  ]),

  [`GET ${VM}/firewall/options`]: call(vm, see, "data"),
  [`PUT ${VM}/firewall/options`]: call(
    {
      ...vm,
      ...digest,
      enable: flag(),
      dhcp: flag(),
      ipfilter: flag(),
      macfilter: flag(),
      ndp: flag(),
      radv: flag(),
      policy_in: text(),
      policy_out: text(),
    },
    network,
    "nothing",
    CHANGED,
  ),
  [`GET ${VM}/firewall/rules`]: call(vm, see, "data"),
  // A digest would be accepted and not checked: none is sent.
  [`POST ${VM}/firewall/rules`]: call({ ...vm, ...rule }, network, "nothing", ["ProxmoxBadRequest"]),
  [`PUT ${VM}/firewall/rules/{pos}`]: call(
    { ...vm, ...digest, pos: number(), moveto: number(), enable: number() },
    network,
    "nothing",
    CHANGED,
  ),
  [`DELETE ${VM}/firewall/rules/{pos}`]: call(
    { ...vm, ...digest, pos: number() },
    network,
    "nothing",
    CHANGED,
  ),
  [`GET ${VM}/firewall/ipset`]: call(vm, see, "data"),
  [`POST ${VM}/firewall/ipset`]: call({ ...vm, name: text() }, network, "nothing", CHANGED),
  [`DELETE ${VM}/firewall/ipset/{name}`]: call({ ...vm, name: text(), force: flag() }, network, "nothing", [
    "ProxmoxNoSuchSet",
  ]),
  [`GET ${VM}/firewall/ipset/{name}`]: call({ ...vm, name: text() }, see, "data"),
  [`POST ${VM}/firewall/ipset/{name}`]: call({ ...vm, name: text(), cidr: text() }, network, "nothing", [
    "ProxmoxBadRequest",
    "ProxmoxConflict",
  ]),
  [`DELETE ${VM}/firewall/ipset/{name}/{cidr}`]: call(
    { ...vm, ...digest, name: text(), cidr: text() },
    network,
    "nothing",
    CHANGED,
  ),
} satisfies Readonly<Record<string, CallFacts>> as Readonly<Record<CallName, CallFacts>>;
