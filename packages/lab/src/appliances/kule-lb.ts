import { createHash } from "node:crypto";
import type { VmDocument } from "../documents.ts";
import type { Region } from "../region.ts";
import type { ApplianceRefusal } from "../tasks/task-faults.ts";
import { macsOf } from "../vm/guest-network.ts";
import { parseNet } from "../vm/networks.ts";
import { certificateFault } from "./certificate-files.ts";
import { type GuestBundle, readBundle } from "./guest-bundle.ts";
import { type ConfiguredServer, certificateFiles, readConfiguration } from "./haproxy-configuration.ts";
import { emptyAppliance, runKuleState, type StateAnswer, type StatePrograms } from "./kule-state.ts";

/*
 * The appliance of a load balancer as a simulated guest: kule-state, and kule-lb of infra/images/kule-lb. No connection
 * passes it; a target is up when a running VM of the region has its address.
 */

const STATE_SCRIPT = "/usr/local/sbin/kule-state";
const LB_SCRIPT = "/usr/local/sbin/kule-lb";
const MOST_BYTES = 262_144;

/** The answer of the appliance's scripts; null for other guests and programs. */
export function runAppliance(
  region: Region,
  vm: VmDocument,
  command: readonly string[],
  input: string,
): StateAnswer | null {
  if (vm.guest.system !== "kule-lb") return null;
  const [program = "", ...args] = command;
  const memory = vm.guest.appliance ?? emptyAppliance;
  if (program === STATE_SCRIPT)
    return runKuleState(memory, args, input, programsOf(region, vm), region.runtime.nowMs());
  return program === LB_SCRIPT ? runKuleLb(region, vm, args) : null;
}

function programsOf(region: Region, { vmid }: VmDocument): StatePrograms {
  const told = (by: ApplianceRefusal["by"]) => {
    const refusal = region.taskFaults.refusingAppliances.get(vmid);
    return refusal?.by === by ? refusal.text : null;
  };
  return {
    receive: () => told("receive"),
    validate: (bundle) => told("validate") ?? validated(bundle),
    activate: () => told("activate"),
    check: () => told("check"),
  };
}

/** What `haproxy -c` finds: the files that it needs are there, and each certificate has its key. */
function validated({ files }: GuestBundle): string | null {
  if (files?.get("files/haproxy/haproxy.cfg") === undefined)
    return "[ALERT] could not get stat from file haproxy/haproxy.cfg : No such file or directory";
  for (const file of certificateFiles(files)) {
    const fault = certificateFault(files.get(file));
    if (fault !== null) return `[ALERT] config : ${file.replace(/^files\//, "")}: ${fault}`;
  }
  return null;
}

function runKuleLb(region: Region, vm: VmDocument, [command, argument = ""]: readonly string[]): StateAnswer {
  const failed = (exitcode: number, errors: string): StateAnswer => ({
    exitcode,
    output: "",
    errors: `${errors}\n`,
  });
  if (command === "prepare") return { exitcode: 0, output: "", errors: "" };
  if (command === "status") return { exitcode: 0, output: `${statusText(region, vm)}\n`, errors: "" };
  if (command !== "check") return failed(2, "usage: kule-lb prepare | check GENERATION | status");
  if (!/^[0-9]{1,15}$/.test(argument)) return failed(2, "the generation is no number");
  const serving = servingOf(vm);
  if (serving === null) return failed(1, "haproxy does not answer");
  const has = readConfiguration(serving.get("files/haproxy/haproxy.cfg") ?? "").generation;
  return has === Number(argument)
    ? { exitcode: 0, output: "", errors: "" }
    : failed(1, `haproxy serves generation ${has}, not ${argument}`);
}

/** The files in force; null before the first state. */
function servingOf({ guest }: VmDocument): ReadonlyMap<string, string> | null {
  const { current, states } = guest.appliance ?? emptyAppliance;
  return current === null ? null : readBundle(states[current] ?? "").files;
}

function statusText(region: Region, vm: VmDocument): string {
  const files = servingOf(vm);
  const { activatedAt, current } = vm.guest.appliance ?? emptyAppliance;
  const bootAt = vm.process?.guestBootAt ?? 0;
  const boot = { boot_id: bootId(vm.vmid, bootAt) };
  if (files === null) return JSON.stringify({ ...boot, ...nothingServed });
  const { generation, maxConnections, frontends, servers } = readConfiguration(
    files.get("files/haproxy/haproxy.cfg") ?? "",
  );
  const startedAt = Math.max(bootAt, activatedAt);
  const seconds = Math.floor((region.runtime.nowMs() - startedAt) / 1_000);
  const head = {
    ...boot,
    generation,
    // Each reload begins another worker.
    worker_pid:
      1_000 + (createHash("sha256").update(`${current} ${startedAt}`).digest().readUInt32BE() % 30_000),
    worker_started: Math.floor(startedAt / 1_000),
    old_workers: 0,
    failed_reloads: 0,
    connections: 0,
    most_connections: maxConnections,
    role: roleOf(region, vm, files),
  };
  const listeners = frontends.map(({ id, isHttp }) => listenerEntry(id, isHttp));
  const targets = servers.map((server) =>
    targetEntry(server, isReachable(region, vm, server.address), seconds),
  );
  // As the script: those that are not up come first, and what has no room is counted.
  const ordered = [
    ...targets.filter(({ status }) => status !== "UP"),
    ...targets.filter(({ status }) => status === "UP"),
  ];
  let bytes = JSON.stringify({ ...head, listeners }).length + 100;
  const given = ordered.filter((target) => {
    const length = JSON.stringify(target).length + 1;
    if (bytes + length + 200 > MOST_BYTES) return false;
    bytes += length;
    return true;
  });
  return JSON.stringify({
    ...head,
    listeners,
    former: [],
    targets: given,
    omitted_listeners: 0,
    omitted_targets: ordered.length - given.length,
  });
}

const nothingServed = {
  generation: null,
  worker_pid: null,
  worker_started: null,
  old_workers: 0,
  failed_reloads: null,
  connections: null,
  most_connections: null,
  role: null,
  listeners: [],
  former: [],
  targets: [],
  omitted_listeners: 0,
  omitted_targets: 0,
};

/** The kernel's, another one after each boot. */
function bootId(vmid: number, bootAt: number): string {
  const hex = createHash("sha256").update(`${vmid} ${bootAt}`).digest("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20, 32)].join(
    "-",
  );
}

function listenerEntry(id: string, isHttp: boolean) {
  const ofRequests = isHttp ? 0 : null;
  return {
    id,
    status: "OPEN",
    connections: 0,
    connections_per_second: 0,
    requests_per_second: ofRequests,
    connections_total: 0,
    requests_total: ofRequests,
    errors_total: ofRequests,
    bytes_in: 0,
    bytes_out: 0,
    connections_denied: 0,
    requests_denied: 0,
    request_errors: 0,
    responses_1xx: ofRequests,
    responses_2xx: ofRequests,
    responses_3xx: ofRequests,
    responses_4xx: ofRequests,
    responses_5xx: ofRequests,
  };
}

function targetEntry({ backend, name, weight }: ConfiguredServer, isUp: boolean, changedSeconds: number) {
  const common = {
    listener: backend,
    server: name,
    status: isUp ? (weight === 0 ? "DRAIN" : "UP") : "DOWN",
    check_status: isUp ? "L4OK" : "L4CON",
    check_code: null,
    changed_seconds: changedSeconds,
    connections: 0,
  };
  if (common.status === "UP") return common;
  return { ...common, last_check: isUp ? "" : "No route to host at initial connection step of tcp-check" };
}

/** Whether a running VM has the address in a segment that the appliance is in. */
function isReachable(region: Region, appliance: VmDocument, address: string): boolean {
  const segments = new Set(Object.keys(addressesBySegment(appliance)));
  return region.store.all("vm").some((vm) => {
    if (vm.process === null) return false;
    return Object.entries(addressesBySegment(vm)).some(
      ([segment, addresses]) => segments.has(segment) && addresses.includes(address),
    );
  });
}

function addressesBySegment(vm: VmDocument): Record<string, readonly string[]> {
  const macs = new Set(macsOf(vm));
  return Object.fromEntries(
    Object.entries(vm.config).flatMap(([key, value]) => {
      if (!/^net\d+$/.test(key)) return [];
      const { bridge = "", tag = "", macaddr = "" } = parseNet(value);
      const mac = macaddr.toLowerCase();
      if (!macs.has(mac)) return [];
      return [[`${bridge} ${tag}`, (vm.guest.addresses?.[mac] ?? []).map((each) => each["ip-address"])]];
    }),
  );
}

/**
 * Of two machines the first has the virtual address while it runs with a state. keepalived would leave it with the one that
 * had it before; what is seen here is which one has it when both were started together.
 */
function roleOf(
  region: Region,
  { vmid }: VmDocument,
  files: ReadonlyMap<string, string>,
): "master" | "backup" | null {
  const text = files.get("files/keepalived/keepalived.conf");
  if (text === undefined) return null;
  const router = (of: string) => /^\s+router_id (\S+)-([12])$/m.exec(of);
  const own = router(text);
  if (own?.[2] === "1") return "master";
  const firstServes = region.store.all("vm").some((vm) => {
    if (vm.vmid === vmid || vm.process === null || vm.guest.system !== "kule-lb") return false;
    const other = router(servingOf(vm)?.get("files/keepalived/keepalived.conf") ?? "");
    return other?.[1] === own?.[1] && other?.[2] === "1";
  });
  return firstServes ? "backup" : "master";
}
