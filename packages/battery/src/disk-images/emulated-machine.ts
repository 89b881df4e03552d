// A virtual machine in QEMU, without the processor's help: as Proxmox VE starts one, with its disk, its cloud-init
// drive, its network interface and the channel of its guest agent.

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { AgentChannel, AgentSilent } from "@kule/lab/real-guests/agent-channel";
import { systemRuntime } from "@kule/lab/runtime";

const run = promisify(execFile);

/** The files of a NoCloud drive. */
export type DriveFiles = { readonly user: string; readonly meta: string; readonly network: string };

const BOOT_MS = 8 * 60_000;
/** After cloud-init's last message an agent that is installed has long been running. */
const SETTLED_MS = 60_000;

export class EmulatedMachine {
  readonly #folder: string;
  readonly #child: ReturnType<typeof spawn>;
  readonly #agent: AgentChannel;

  private constructor(folder: string, child: ReturnType<typeof spawn>) {
    this.#folder = folder;
    this.#child = child;
    this.#agent = new AgentChannel(join(folder, "agent.sock"), systemRuntime(1, 1));
  }

  /** @param folder of its own; files of the machine are left in it */
  static async start(
    folder: string,
    machine: {
      readonly image: string;
      readonly diskGib: number;
      readonly mac: string;
      readonly drive: DriveFiles;
    },
  ): Promise<EmulatedMachine> {
    const seed = join(folder, "seed");
    mkdirSync(seed, { recursive: true });
    writeFileSync(join(seed, "user-data"), machine.drive.user);
    writeFileSync(join(seed, "meta-data"), machine.drive.meta);
    writeFileSync(join(seed, "network-config"), machine.drive.network);
    const [iso, disk] = [join(folder, "seed.iso"), join(folder, "disk.qcow2")];
    await run("genisoimage", ["-quiet", "-output", iso, "-volid", "cidata", "-joliet", "-rock", seed]);
    await run("qemu-img", [
      "create",
      "-q",
      "-f",
      "qcow2",
      "-b",
      machine.image,
      "-F",
      "qcow2",
      disk,
      `${machine.diskGib}G`,
    ]);
    const words = [
      ...[
        "-machine",
        "pc",
        "-accel",
        "tcg",
        "-cpu",
        "max",
        "-smp",
        "2",
        "-m",
        "1024",
        "-display",
        "none",
        "-no-user-config",
      ],
      ...["-device", "virtio-scsi-pci", "-drive", `file=${disk},if=none,id=system,format=qcow2,cache=unsafe`],
      ...["-device", "scsi-hd,drive=system,bootindex=1", "-drive", `file=${iso},media=cdrom,readonly=on`],
      ...["-netdev", "user,id=net0,restrict=on", "-device", `virtio-net-pci,netdev=net0,mac=${machine.mac}`],
      ...[
        "-chardev",
        `socket,id=agent,path=${join(folder, "agent.sock")},server=on,wait=off`,
        "-device",
        "virtio-serial",
      ],
      ...["-device", "virtserialport,chardev=agent,name=org.qemu.guest_agent.0"],
      ...["-serial", `file:${join(folder, "console")}`],
    ];
    const child = spawn("qemu-system-x86_64", words, { stdio: ["ignore", "ignore", "inherit"] });
    return new EmulatedMachine(folder, child);
  }

  /** What it has printed on its serial line. */
  console(): string {
    try {
      return readFileSync(join(this.#folder, "console"), "utf8");
    } catch {
      return "";
    }
  }

  /** Until the guest agent answers; false when the system has booted without one, or does not boot. */
  async booted(): Promise<boolean> {
    const deadline = performance.now() + BOOT_MS;
    let finishedAt: number | undefined;
    while (performance.now() < deadline && this.#child.exitCode === null) {
      try {
        await this.#agent.ask("guest-ping", {}, 2_000);
        return true;
      } catch (error) {
        if (!(error instanceof AgentSilent)) throw error;
      }
      if (/Cloud-init v\. \S+ finished/.test(this.console())) finishedAt ??= performance.now();
      if (finishedAt !== undefined && performance.now() - finishedAt > SETTLED_MS) return false;
      await delay(500);
    }
    return false;
  }

  /** A command line of the guest's shell, through its agent; its output, whatever its exit code. */
  async shell(line: string): Promise<string> {
    const started = (await this.#agent.ask("guest-exec", {
      path: "/bin/sh",
      arg: ["-c", line],
      "capture-output": true,
    })) as { pid: number };
    for (;;) {
      const status = (await this.#agent.ask("guest-exec-status", { pid: started.pid })) as {
        exited: boolean;
        "out-data"?: string;
      };
      if (status.exited)
        return Buffer.from(status["out-data"] ?? "", "base64")
          .toString("utf8")
          .trim();
      await delay(300);
    }
  }

  async end(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, "close");
    this.#child.kill("SIGKILL");
    await ended;
  }
}
