import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

/** What a guest may use of the machine. */
export type Limits = { readonly memoryMb: number; readonly cores: number };

/** Processes of one guest: a VM's own system ends there as well. */
const MOST_PROCESSES = 8192;
const PERIOD_MICROSECONDS = 100_000;

/** null, zero, full, random, urandom, tty, console and pseudo terminals. */
const DEVICES = ["c 1:3", "c 1:5", "c 1:7", "c 1:8", "c 1:9", "c 5:0", "c 5:1", "c 5:2", "c 136:*"];

/** The mounted hierarchies: the unified one, and each controller of version 1. */
type Hierarchies = {
  readonly unified: string | undefined;
  readonly controllers: ReadonlyMap<string, string>;
};

const CONTROLLERS = ["memory", "cpu", "pids", "devices", "cpuset"];

function hierarchies(): Hierarchies {
  let unified: string | undefined;
  const controllers = new Map<string, string>();
  for (const line of readFileSync("/proc/self/mounts", "utf8").split("\n")) {
    const [, place = "", type, options = ""] = line.split(" ");
    if (type === "cgroup2") unified ??= place;
    if (type !== "cgroup") continue;
    for (const name of options.split(",")) if (CONTROLLERS.includes(name)) controllers.set(name, place);
  }
  return { unified, controllers };
}

/** The group that this process is in, so that guests stay within the limits that the lab itself has. */
function ownGroup(controller: string): string {
  for (const line of readFileSync("/proc/self/cgroup", "utf8").split("\n")) {
    const [, names = "", path = "/"] = line.split(":");
    if (names.split(",").includes(controller)) return path;
  }
  return "/";
}

/** Why guests cannot be bounded or ended here; undefined when they can. */
export function lacksControlGroups(): string | undefined {
  const { unified } = hierarchies();
  if (unified === undefined)
    return "there is no cgroup2 hierarchy; mount one: mount -t cgroup2 none /sys/fs/cgroup/unified";
  return undefined;
}

const PARENT = "kule-lab";
/** One folder for each lab, named by its process: what is left of one that was killed is recognised. */
const ownName = (): string => `${process.pid}-${startOf(process.pid)}`;

function startOf(pid: number | string): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
  } catch {
    return "";
  }
}

function parents(): string[] {
  const { unified, controllers } = hierarchies();
  return [
    // The root group alone may have controllers and processes at once.
    ...(unified === undefined ? [] : [join(unified, PARENT)]),
    ...[...controllers].map(([name, place]) => join(place, ownGroup(name), PARENT)),
  ];
}

/** Removes the empty groups that killed labs have left, and with `own` those of this one. */
export function sweepControlGroups(own: "keep own" | "own too" = "keep own"): void {
  for (const parent of parents()) {
    if (!existsSync(parent)) continue;
    for (const name of readdirSync(parent, { withFileTypes: true })) {
      const [pid = "", start] = name.name.split("-");
      if (!name.isDirectory() || start === undefined) continue;
      const isOwn = name.name === ownName();
      if (isOwn ? own === "own too" : startOf(pid) !== start) removeTree(join(parent, name.name));
    }
  }
}

/** From the leaves up; a group with a process in it stays. */
function removeTree(folder: string): void {
  try {
    for (const each of readdirSync(folder, { withFileTypes: true }))
      if (each.isDirectory()) removeTree(join(folder, each.name));
    rmdirSync(folder);
  } catch {
    // Somebody is in there, or has removed it already.
  }
}

/** The numbers in a list such as "0-3,6". */
export function processorsIn(list: string): number[] {
  return list.split(",").flatMap((part) => {
    const [first = 0, last = first] = part.split("-").map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}

/** The control groups of one machine: its limits, its use, and the one way to end all of its processes. */
export class MachineGroups {
  readonly #vmid: number;
  readonly #unified: string;
  readonly #own: ReadonlyMap<string, string>;
  readonly #hasUnifiedControllers: boolean;

  constructor(vmid: number, firstId: number) {
    const { unified, controllers } = hierarchies();
    if (unified === undefined) throw new Error("no cgroup2 hierarchy");
    this.#vmid = vmid;
    const below = join(PARENT, ownName(), `vm${vmid}`);
    this.#unified = join(unified, below);
    mkdirSync(this.#unified, { recursive: true });
    for (const file of ["", "cgroup.procs", "cgroup.threads", "cgroup.subtree_control"])
      chownSync(join(this.#unified, file), firstId, firstId);
    this.#own = new Map([...controllers].map(([name, place]) => [name, join(place, ownGroup(name), below)]));
    for (const folder of this.#own.values()) mkdirSync(folder, { recursive: true });
    this.#hasUnifiedControllers = this.#enable(unified);
    this.#closeDevices();
  }

  /** All that a process of the machine has to join. */
  folders(): string[] {
    return [this.#unified, ...this.#own.values()];
  }

  limit({ memoryMb, cores }: Limits): void {
    const bytes = String(memoryMb * 1024 * 1024);
    const quota = Math.round(cores * PERIOD_MICROSECONDS);
    this.#set("memory", "memory.limit_in_bytes", bytes);
    this.#set("pids", "pids.max", String(MOST_PROCESSES));
    this.#set("cpu", "cpu.cfs_period_us", String(PERIOD_MICROSECONDS));
    this.#set("cpu", "cpu.cfs_quota_us", String(quota));
    this.#limitProcessors(cores);
    if (!this.#hasUnifiedControllers) return;
    this.#setUnified("memory.max", bytes);
    this.#setUnified("pids.max", String(MOST_PROCESSES));
    this.#setUnified("cpu.max", `${quota} ${PERIOD_MICROSECONDS}`);
  }

  /** What its processes and their files in memory take; null where nothing counts it. */
  memoryUse(): { readonly usedBytes: number; readonly cacheBytes: number } | null {
    const memory = this.#own.get("memory");
    const usage =
      memory === undefined ? join(this.#unified, "memory.current") : join(memory, "memory.usage_in_bytes");
    try {
      const stat = readFileSync(join(memory ?? this.#unified, "memory.stat"), "utf8");
      const cache = /^(?:total_cache|file) (\d+)$/m.exec(stat)?.[1];
      return { usedBytes: Number(readFileSync(usage, "utf8")), cacheBytes: Number(cache ?? 0) };
    } catch {
      return null;
    }
  }

  /** The process of the guest's init; undefined until systemd has made its own group. */
  init(): number | undefined {
    try {
      const [pid] = readFileSync(join(this.#unified, "init.scope", "cgroup.procs"), "utf8").split("\n");
      return pid === undefined || pid === "" ? undefined : Number(pid);
    } catch {
      return undefined;
    }
  }

  freeze(frozen: boolean): void {
    this.#setUnified("cgroup.freeze", frozen ? "1" : "0");
  }

  /** Every process of the machine, whatever it forks meanwhile. */
  kill(): void {
    this.#setUnified("cgroup.kill", "1");
  }

  remove(): void {
    for (const folder of this.folders()) removeTree(folder);
  }

  /** Version 2 alone: the controllers are handed down from the root. */
  #enable(unified: string): boolean {
    const present = readFileSync(join(unified, "cgroup.controllers"), "utf8").split(/\s+/);
    if (!present.includes("memory")) return false;
    for (const folder of [unified, join(unified, PARENT), join(unified, PARENT, ownName())])
      writeFileSync(join(folder, "cgroup.subtree_control"), "+memory +cpu +pids");
    return true;
  }

  /** As many processors as were sold, where the machine has more; others for other machines. */
  #limitProcessors(cores: number): void {
    const folder = this.#own.get("cpuset");
    if (folder === undefined) return;
    // A new group has neither processors nor memory, and takes no process.
    const top = folder.slice(0, folder.indexOf(`/${PARENT}/`));
    const all = readFileSync(join(top, "cpuset.cpus"), "utf8").trim();
    const mems = readFileSync(join(top, "cpuset.mems"), "utf8");
    for (const each of [join(top, PARENT), join(folder, "..")]) {
      writeFileSync(join(each, "cpuset.cpus"), all);
      writeFileSync(join(each, "cpuset.mems"), mems);
    }
    const there = processorsIn(all);
    const some = there.map((_, index) => there[(this.#vmid + index) % there.length]).slice(0, cores);
    writeFileSync(join(folder, "cpuset.cpus"), some.join(","));
    writeFileSync(join(folder, "cpuset.mems"), mems);
  }

  #closeDevices(): void {
    this.#set("devices", "devices.deny", "a");
    for (const each of DEVICES) this.#set("devices", "devices.allow", `${each} rw`);
  }

  #set(controller: string, file: string, value: string): void {
    const folder = this.#own.get(controller);
    if (folder !== undefined) writeFileSync(join(folder, file), value);
  }

  #setUnified(file: string, value: string): void {
    writeFileSync(join(this.#unified, file), value);
  }
}
