import { createHash } from "node:crypto";
import { badParameters, failure } from "../api-error.ts";
import { runAppliance } from "../appliances/kule-lb.ts";
import { type Call, flag, type Handler, type Handlers, number, required, text } from "../call.ts";
import type { GuestMemory, VmDocument } from "../documents.ts";
import { seconds } from "../durations.ts";
import { type Region, vmOn } from "../region.ts";
import { isWindows } from "../vm/cloud-init.ts";
import { guestInterfaces, requireAgent } from "../vm/guest.ts";
import { runNetworkCommand } from "../vm/guest-network.ts";
import { cryptSalt, sha256Crypt } from "../vm/sha256-crypt.ts";
import { realAgent } from "./real-agent-calls.ts";

interface GuestProcess {
  readonly exitcode: number;
  readonly output: string;
  readonly errors?: string;
  /** The guest's state afterwards, when the program changed it. */
  readonly guest?: GuestMemory;
}

/** Processes that exec started, per VM: the guest's memory, gone with the lab. */
const processes = new WeakMap<object, Map<string, GuestProcess>>();

/** The VM, with an agent that answers; otherwise the 500 that names what is missing. */
function guestOf(call: Call): VmDocument {
  const vm = vmOn(call.region, call.node, required(call, "vmid"));
  requireAgent(call.region, vm);
  return vm;
}

function osInfo(call: Call): unknown {
  const vm = guestOf(call);
  if (isWindows(vm.config)) {
    return {
      result: {
        id: "mswindows",
        name: "Microsoft Windows",
        "pretty-name": "Windows Server",
        version: "Microsoft Windows Server",
      },
    };
  }
  return {
    result: {
      id: "linux",
      name: "Linux",
      "pretty-name": "Simulated Linux",
      "kernel-release": "6.8.0",
      machine: "x86_64",
    },
  };
}

/** \`cloud-init status\` as the guest prints it: it still runs for a while after the agent has started. */
function cloudInit(region: Region, vm: VmDocument, args: readonly string[]): GuestProcess {
  if (isWindows(vm.config) || vm.drive === null) return { exitcode: 127, output: "" };
  if (args[0] !== "status") return { exitcode: 0, output: "" };
  const booted = (region.runtime.nowMs() - (vm.process?.guestBootAt ?? 0)) / 1000;
  const isDone = booted >= seconds.cloudInitLinux * region.runtime.timeScale;
  const status = isDone ? "done" : "running";
  if (!args.includes("json")) return { exitcode: 0, output: `status: ${status}\n` };
  const answer = {
    boot_status_code: "enabled-by-generator",
    datasource: "nocloud",
    detail: isDone ? "DataSourceNoCloud [seed=/dev/sr0]" : "Running in stage: modules-final",
    errors: [],
    extended_status: status,
    last_update: "",
    recoverable_errors: {},
    status,
  };
  return { exitcode: 0, output: `${JSON.stringify(answer, null, 1)}\n` };
}

/** The guest's hostname. */
function hostnameIn(vm: VmDocument): string {
  return vm.guest.hostname ?? vm.config.name ?? "";
}

/** A few harmless programs; everything else is "not found". */
function runInGuest(region: Region, vm: VmDocument, command: readonly string[], input: string): GuestProcess {
  const [program = "", ...args] = command;
  const appliance = runAppliance(region, vm, command, input);
  if (appliance !== null) {
    const { memory, ...end } = appliance;
    return memory === undefined ? end : { ...end, guest: { ...vm.guest, appliance: memory } };
  }
  const network = runNetworkCommand(vm, command, input);
  if (network !== null) return network;
  const name = program.split("/").at(-1) ?? "";
  if (name === "echo") return { exitcode: 0, output: `${args.join(" ")}\n` };
  if (name === "hostname") return { exitcode: 0, output: `${hostnameIn(vm)}\n` };
  // systemd's, and only where there is a systemd.
  if (name === "hostnamectl" && !isWindows(vm.config) && args[0] === "set-hostname")
    return args[1] === undefined
      ? { exitcode: 1, output: "" }
      : { exitcode: 0, output: "", guest: { ...vm.guest, hostname: args[1] } };
  if (name === "cat") return { exitcode: 0, output: input };
  if (name === "cloud-init") return cloudInit(region, vm, args);
  if (name === "true") return { exitcode: 0, output: "" };
  return { exitcode: name === "false" ? 1 : 127, output: "" };
}

function exec(call: Call): unknown {
  const vm = guestOf(call);
  const { region } = call;
  const given = call.params.command;
  const command = Array.isArray(given) ? given : given === undefined ? [] : [given];
  if (command.length === 0) throw failure("empty command");
  const pid = 500 + Math.floor(region.runtime.random() * 30_000);
  const known = processes.get(region) ?? new Map<string, GuestProcess>();
  processes.set(region, known);
  const process = runInGuest(region, vm, command, text(call, "input-data") ?? "");
  known.set(`${vm.vmid}:${pid}`, process);
  const applied = process.guest?.appliance?.applied ?? null;
  const hasNewState = applied !== null && applied !== vm.guest.appliance?.applied;
  region.store.commit(
    {
      op: hasNewState ? "guest-state-applied" : "guest-exec",
      node: call.node,
      vmid: vm.vmid,
      user: call.authUser,
      detail: { program: command[0], ...(hasNewState ? { state: applied } : {}) },
    },
    process.guest === undefined ? [] : [["vm", String(vm.vmid), { ...vm, guest: process.guest }]],
  );
  return { pid };
}

function execStatus(call: Call): unknown {
  const vm = guestOf(call);
  const pid = number(call, "pid") ?? 0;
  const process = processes.get(call.region)?.get(`${vm.vmid}:${pid}`);
  if (process === undefined) throw failure(`Agent error: Invalid parameter 'pid'`);
  return {
    exited: 1,
    exitcode: process.exitcode,
    ...(process.output === "" ? {} : { "out-data": process.output }),
    ...(process.errors === undefined || process.errors === "" ? {} : { "err-data": process.errors }),
  };
}

function setPassword(call: Call): unknown {
  const { region, node } = call;
  const vm = guestOf(call);
  const username = required(call, "username");
  const password = required(call, "password");
  const crypted = flag(call, "crypted");
  if (crypted && isWindows(vm.config))
    throw failure("Agent error: Windows does not support crypted passwords");
  const hash = crypted
    ? password
    : sha256Crypt(
        password,
        cryptSalt(() => region.runtime.random()),
      );
  const entry = { at: region.runtime.nowMs(), crypted, hash };
  const guest = { ...vm.guest, passwords: { ...vm.guest.passwords, [username]: entry } };
  // A digest, so that a test can see which password was set without the journal holding it.
  const digest = createHash("sha256").update(password).digest("hex");
  region.store.commit(
    {
      op: "guest-password-set",
      node,
      vmid: vm.vmid,
      user: call.authUser,
      detail: { username, crypted, sha256: digest },
    },
    [["vm", String(vm.vmid), { ...vm, guest }]],
  );
  return { result: {} };
}

const REFUSED = (command: string) => failure(`Agent error: The command ${command} has not been found`);

/** What a real agent answers, or else the simulated one. */
const either =
  (command: string, simulated: (call: Call) => unknown): Handler =>
  async (call) =>
    (await (await realAgent(call))?.simple(command)) ?? simulated(call);

/** A simulated agent has not this command. */
const missing =
  (command: string) =>
  (call: Call): never => {
    guestOf(call);
    throw REFUSED(command);
  };

export const vmAgentHandlers: Handlers = {
  "GET /nodes/{node}/qemu/{vmid}/agent": (call) => {
    vmOn(call.region, call.node, required(call, "vmid"));
    return [
      "exec",
      "exec-status",
      "file-read",
      "file-write",
      "get-fsinfo",
      "get-host-name",
      "get-osinfo",
      "get-time",
      "get-timezone",
      "get-users",
      "get-vcpus",
      "info",
      "network-get-interfaces",
      "ping",
      "set-user-password",
    ].map((name) => ({ name }));
  },
  "POST /nodes/{node}/qemu/{vmid}/agent/ping": either("guest-ping", (call) => {
    guestOf(call);
    return { result: {} };
  }),
  "GET /nodes/{node}/qemu/{vmid}/agent/info": either("guest-info", (call) => {
    guestOf(call);
    return {
      result: {
        version: "9.2.0",
        supported_commands: [{ name: "guest-ping", enabled: true, "success-response": true }],
      },
    };
  }),
  "GET /nodes/{node}/qemu/{vmid}/agent/get-osinfo": either("guest-get-osinfo", osInfo),
  "GET /nodes/{node}/qemu/{vmid}/agent/get-host-name": either("guest-get-host-name", (call) => ({
    result: { "host-name": hostnameIn(guestOf(call)) },
  })),
  "GET /nodes/{node}/qemu/{vmid}/agent/network-get-interfaces": either(
    "guest-network-get-interfaces",
    (call) => ({ result: guestInterfaces(guestOf(call)) }),
  ),
  ...Object.fromEntries(
    ["fsinfo", "time", "timezone", "users", "vcpus"].map((name) => [
      `GET /nodes/{node}/qemu/{vmid}/agent/get-${name}`,
      either(`guest-get-${name}`, missing(`guest-get-${name}`)),
    ]),
  ),
  "POST /nodes/{node}/qemu/{vmid}/agent/exec": async (call) =>
    (await (await realAgent(call))?.exec(call)) ?? exec(call),
  "GET /nodes/{node}/qemu/{vmid}/agent/exec-status": async (call) =>
    (await (await realAgent(call))?.execStatus(call)) ?? execStatus(call),
  "GET /nodes/{node}/qemu/{vmid}/agent/file-read": async (call) => {
    const agent = await realAgent(call);
    return agent === null ? missing("guest-file-read")(call) : await agent.fileRead(call);
  },
  "POST /nodes/{node}/qemu/{vmid}/agent/file-write": async (call) => {
    const agent = await realAgent(call);
    return agent === null ? missing("guest-file-write")(call) : await agent.fileWrite(call);
  },
  "POST /nodes/{node}/qemu/{vmid}/agent/set-user-password": async (call) => {
    if (required(call, "password").length < 5)
      throw badParameters({ password: "value must be at least 5 characters long" });
    return (await (await realAgent(call))?.setPassword(call)) ?? setPassword(call);
  },
};
