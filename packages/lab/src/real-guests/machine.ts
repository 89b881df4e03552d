import { spawn } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { VmDocument } from "../documents.ts";
import type { Runtime } from "../runtime.ts";
import { instanceIdOf } from "../vm/cloud-init.ts";
import type { Holder } from "../wires/holder.ts";
import { AgentChannel } from "./agent-channel.ts";
import { MachineGroups } from "./control-groups.ts";
import { diskFile, type GuestHardware, guestHardware } from "./guest-hardware.ts";
import {
  BOOT,
  imageFolder,
  MOUNT_DISK,
  machineFolder,
  START,
  UNMOUNT_DISK,
  userNamespaceFile,
} from "./guest-scripts.ts";
import type { RealImage } from "./real-images.ts";
import { SerialLine } from "./serial-line.ts";
import { cpuinfo, meminfo } from "./shown-hardware.ts";

/** How a guest's system ended. */
export type GuestEnd = "off" | "restart" | "killed";

/** What a guest said when its start failed, at most. */
const MOST_COMPLAINT = 4000;
/** SIGRTMIN+4: systemd powers off. */
const POWER_OFF_SIGNAL = 38;
const MEMORY_ROUND_MS = 2_000;

/** The machine of one real guest, from its power on to its power off: several boots, one serial line. */
export class Machine {
  readonly vmid: number;
  readonly serial: SerialLine;
  readonly agent: AgentChannel;
  readonly #holder: Holder;
  readonly #image: RealImage;
  readonly #groups: MachineGroups;
  readonly #dataDir: string;
  #hardware: GuestHardware | undefined;
  #guest: Guest | undefined;
  readonly #runtime: Runtime;
  #stopRounds: (() => void) | undefined;

  private constructor(where: MachinePlace, vmid: number, serial: SerialLine) {
    this.vmid = vmid;
    this.#runtime = where.runtime;
    this.#holder = where.holder;
    this.#image = where.image;
    this.#dataDir = where.dataDir;
    this.#groups = new MachineGroups(vmid, where.image.firstId);
    this.serial = serial;
    this.agent = new AgentChannel(where.holder.path(`${machineFolder(vmid)}/agent/socket`), where.runtime);
  }

  static async powerOn(where: MachinePlace, vmid: number): Promise<Machine> {
    const serial = await SerialLine.open(where.holder, vmid);
    return new Machine(where, vmid, serial);
  }

  /**
   * Boots the guest, whose network namespace is there. Resolves when its init has been started.
   *
   * @returns how it will end
   * @throws Error with what could not be done
   */
  async boot(vm: VmDocument): Promise<Guest> {
    const hardware = guestHardware(vm);
    this.#hardware = hardware;
    if (hardware.disk === null) throw new Error("the VM has no disk to boot from");
    const folder = machineFolder(this.vmid);
    const env = {
      FOLDER: folder,
      NAME: `vm${this.vmid}`,
      IMAGE: imageFolder(this.#image.template),
      USER_NAMESPACE: userNamespaceFile(this.vmid),
      FIRST_ID: String(this.#image.firstId),
      DISK: diskFile(this.#dataDir, hardware.disk.volid),
      SIZE: String(hardware.disk.bytes),
      RUN_SIZE: `${Math.max(16, Math.floor(hardware.memoryMb / 5))}m`,
      CONTROL_GROUPS: this.#groups.folders().join(" "),
      BOOT,
    };
    await this.#holder.run(["sh", "-ec", MOUNT_DISK], "", env);
    this.#writeFiles(vm, hardware);
    this.#groups.freeze(false);
    this.#groups.limit(hardware);
    const guest = await this.#start(env);
    if (this.#stopRounds === undefined) this.#nextRound();
    return guest;
  }

  /**
   * Asks the guest to power off: its agent, or its init where none answers, as the power button does.
   *
   * @returns which of them was asked
   */
  async pressPowerButton(): Promise<"agent" | "init"> {
    try {
      await this.agent.ask("guest-ping", {}, 3_000);
      // It has no answer.
      void this.agent.ask("guest-shutdown", { mode: "powerdown" }, 3_000).catch(() => {});
      return "agent";
    } catch {
      const init = this.#groups.init();
      if (init !== undefined) process.kill(init, POWER_OFF_SIGNAL);
      return "init";
    }
  }

  pause(paused: boolean): void {
    this.#groups.freeze(paused);
  }

  /** Ends the guest at once, as a reset and a power failure do. */
  async cut(): Promise<void> {
    if (this.#guest === undefined) return;
    this.#groups.kill();
    await this.#guest.ended;
    this.#guest = undefined;
  }

  async powerOff(): Promise<void> {
    this.#stopRounds?.();
    await this.cut();
    await this.serial.closed();
    await this.#holder
      .run(["sh", "-ec", UNMOUNT_DISK], "", { FOLDER: machineFolder(this.vmid) })
      .catch(() => {});
    this.#groups.remove();
  }

  #writeFiles(vm: VmDocument, hardware: GuestHardware): void {
    const folder = this.#holder.path(machineFolder(this.vmid));
    const seed = join(folder, "seed");
    mkdirSync(seed, { recursive: true, mode: 0o755 });
    const drive = vm.drive ?? { user: "#cloud-config\n", network: "", meta: "instance-id: none\n" };
    writeFileSync(join(seed, "user-data"), drive.user);
    writeFileSync(join(seed, "meta-data"), drive.meta || `instance-id: ${instanceIdOf(drive)}\n`);
    if (drive.network !== "") writeFileSync(join(seed, "network-config"), drive.network);
    writeFileSync(join(folder, "cpuinfo"), cpuinfo(hardware.cores), { mode: 0o444 });
    this.#showMemory();
  }

  #nextRound(): void {
    this.#stopRounds = this.#runtime.after(MEMORY_ROUND_MS, () => {
      this.#showMemory();
      this.#nextRound();
    });
  }

  #showMemory(): void {
    if (this.#hardware === undefined) return;
    const text = meminfo(this.#hardware.memoryMb, this.#groups.memoryUse());
    try {
      // In place: the guest has this very file in its /proc.
      writeFileSync(this.#holder.path(`${machineFolder(this.vmid)}/meminfo`), text, { flag: "r+" });
    } catch {
      writeFileSync(this.#holder.path(`${machineFolder(this.vmid)}/meminfo`), text, { mode: 0o444 });
    }
  }

  async #start(env: Readonly<Record<string, string>>): Promise<Guest> {
    const [program = "", ...words] = [...this.#holder.inside(), "sh", "-ec", START];
    const child = spawn(program, words, {
      stdio: ["ignore", "ignore", "pipe"],
      env: { PATH: process.env.PATH, LC_ALL: "C", ...env },
      cwd: "/",
    });
    const ended = new Promise<GuestEnd>((resolve) => {
      child.once("error", () => resolve("killed"));
      child.once("close", (_code, signal) =>
        resolve(signal === "SIGHUP" ? "restart" : signal === "SIGINT" ? "off" : "killed"),
      );
    });
    let said = "";
    const started = new Promise<"started">((resolve) => {
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        said = (said + text).slice(-MOST_COMPLAINT);
        if (said.endsWith("started\n")) resolve("started");
      });
    });
    const guest = { ended };
    this.#guest = guest;
    if ((await Promise.race([started, ended])) !== "started")
      throw new Error(said.trim() || "the guest ended at once");
    return guest;
  }
}

type Guest = { readonly ended: Promise<GuestEnd> };

export type MachinePlace = {
  readonly runtime: Runtime;
  readonly holder: Holder;
  readonly image: RealImage;
  readonly dataDir: string;
};
