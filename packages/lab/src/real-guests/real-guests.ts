import { rmSync } from "node:fs";
import { powerOffFromInside, restartFromInside } from "../console/guest-power.ts";
import type { VmDocument } from "../documents.ts";
import type { Region } from "../region.ts";
import type { DocumentChange } from "../store.ts";
import type { Wires } from "../wires/wires.ts";
import { sweepControlGroups } from "./control-groups.ts";
import { diskFile } from "./guest-hardware.ts";
import { imageFolder } from "./guest-scripts.ts";
import { type GuestEnd, Machine } from "./machine.ts";
import { type RealImage, realImageOf } from "./real-images.ts";

/** A machine that is on, and the power-on and boot that its present guest belongs to. */
type Running = {
  readonly machine: Machine;
  readonly power: string;
  boot: string;
  paused: boolean;
};

/**
 * The guests that really boot. They follow the documents of their VMs: one that is on has a guest, after
 * every start of it a new one; and the documents follow them when a guest restarts or powers off by itself.
 */
export class RealGuests {
  readonly #region: Region;
  readonly #wires: Wires;
  readonly #dataDir: string;
  readonly #images: readonly RealImage[];
  readonly #running = new Map<number, Running>();
  readonly #work = new Map<number, Promise<void>>();
  /** Shutdowns that wait for the guest: what they wait for is theirs to note. */
  readonly #awaited = new Map<number, (how: GuestEnd) => void>();
  #hasEnded = false;

  private constructor(region: Region, wires: Wires, dataDir: string, images: readonly RealImage[]) {
    this.#region = region;
    this.#wires = wires;
    this.#dataDir = dataDir;
    this.#images = images;
  }

  /** Boots the guests of the VMs that are on. */
  static async start(
    region: Region,
    wires: Wires,
    dataDir: string,
    images: readonly RealImage[],
  ): Promise<RealGuests> {
    sweepControlGroups();
    for (const { template, root } of images)
      await wires.holder.run([
        "sh",
        "-ec",
        `mkdir -p "$1"; mount --bind "$2" "$1"; mount -o remount,bind,ro "$1"`,
        "sh",
        imageFolder(template),
        root,
      ]);
    const guests = new RealGuests(region, wires, dataDir, images);
    region.store.onCommit((changes) => guests.#follow(changes));
    for (const vm of region.store.all("vm")) guests.#soon(vm.vmid);
    return guests;
  }

  isReal(vm: VmDocument): boolean {
    return realImageOf(this.#images, vm) !== undefined;
  }

  /** The machine of a VM that is on; undefined while it is off, or has a simulated guest. */
  machine(vmid: number): Machine | undefined {
    return this.#running.get(vmid)?.machine;
  }

  /**
   * Resolves when the guest is as the VM's document says.
   *
   * @throws Error of a guest that could not be started
   */
  async settled(vmid: number): Promise<void> {
    for (let seen: Promise<void> | null | undefined = null; seen !== this.#work.get(vmid); ) {
      seen = this.#work.get(vmid);
      await seen;
    }
  }

  /**
   * Lets `ask` ask the guest to power off, and waits for it: whether it did in time. That it is off is then the
   * caller's to note in the VM's document.
   */
  async powersOff(
    vmid: number,
    timeoutMs: number,
    ask: (machine: Machine) => Promise<void>,
  ): Promise<boolean> {
    const machine = this.machine(vmid);
    if (machine === undefined) return true;
    const off = new Promise<true>((resolve) => this.#awaited.set(vmid, () => resolve(true)));
    try {
      const timeout = this.#region.runtime.sleepMs(timeoutMs).then(() => false);
      await Promise.race([ask(machine), off, timeout]);
      return await Promise.race([off, timeout]);
    } finally {
      this.#awaited.delete(vmid);
    }
  }

  async end(): Promise<void> {
    this.#hasEnded = true;
    await Promise.all([...this.#work.values()].map((each) => each.catch(() => {})));
    for (const { machine } of this.#running.values()) await machine.powerOff().catch(() => {});
    this.#running.clear();
    sweepControlGroups("own too");
  }

  #follow(changes: readonly DocumentChange[]): void {
    for (const [collection, id, document] of changes) {
      if (collection === "vm") this.#soon(Number(id));
      // A volume that is freed is a disk that is gone.
      if (collection === "volume" && document === null) this.#removeDisk(id);
    }
  }

  #removeDisk(volid: string): void {
    const file = diskFile(this.#dataDir, volid);
    for (const each of [file, `${file}.new`]) rmSync(each, { force: true });
  }

  #soon(vmid: number): void {
    if (this.#hasEnded) return;
    const vm = this.#region.store.get("vm", String(vmid));
    if (!this.#running.has(vmid) && (vm === undefined || !this.isReal(vm) || vm.process === null)) return;
    const before = this.#work.get(vmid) ?? Promise.resolve();
    const work = before.catch(() => {}).then(() => this.#settle(vmid));
    this.#work.set(vmid, work);
    work.catch((error: unknown) => process.stderr.write(`lab: guest of VM ${vmid}: ${String(error)}\n`));
    void work
      .catch(() => {})
      .finally(() => {
        if (this.#work.get(vmid) === work) this.#work.delete(vmid);
      });
  }

  async #settle(vmid: number): Promise<void> {
    if (this.#hasEnded) return;
    const vm = this.#region.store.get("vm", String(vmid));
    const present = this.#running.get(vmid);
    const power =
      vm === undefined || vm.process === null ? null : `${vm.process.pid}-${vm.process.startedAt}`;
    if (present !== undefined && present.power !== power) {
      this.#running.delete(vmid);
      await present.machine.powerOff();
    }
    const image = vm === undefined ? undefined : realImageOf(this.#images, vm);
    if (vm?.process == null || power === null || image === undefined) return;
    const boot = String(vm.process.guestBootAt);
    let running = this.#running.get(vmid);
    if (running?.boot !== boot) {
      try {
        running = await this.#boot(vm, image, power, boot, running);
      } catch (error) {
        await this.#giveUp(vmid);
        throw error;
      }
    }
    if (running.paused !== vm.process.paused) {
      running.machine.pause(vm.process.paused);
      running.paused = vm.process.paused;
    }
  }

  async #boot(
    vm: VmDocument,
    image: RealImage,
    power: string,
    boot: string,
    before: Running | undefined,
  ): Promise<Running> {
    const { vmid } = vm;
    const place = {
      runtime: this.#region.runtime,
      holder: this.#wires.holder,
      image,
      dataDir: this.#dataDir,
    };
    const machine = before?.machine ?? (await Machine.powerOn(place, vmid));
    const running: Running = before ?? { machine, power, boot, paused: false };
    running.boot = boot;
    running.paused = false;
    this.#running.set(vmid, running);
    await machine.cut();
    await this.#wires.settled();
    const { ended } = await machine.boot(vm);
    void ended.then((how) => this.#hasEndedItself(vmid, running, boot, how));
    return running;
  }

  /** As when QEMU does not start. */
  async #giveUp(vmid: number): Promise<void> {
    const running = this.#running.get(vmid);
    this.#running.delete(vmid);
    await running?.machine.powerOff().catch(() => {});
    powerOffFromInside(this.#region, vmid);
  }

  #hasEndedItself(vmid: number, running: Running, boot: string, how: GuestEnd): void {
    // A newer boot, a power-off or the lab's own end has ended it.
    if (this.#hasEnded || this.#running.get(vmid) !== running || running.boot !== boot) return;
    const vm = this.#region.store.get("vm", String(vmid));
    if (vm?.process == null || String(vm.process.guestBootAt) !== boot) return;
    const awaited = this.#awaited.get(vmid);
    if (how === "restart") restartFromInside(this.#region, vmid);
    else if (awaited === undefined) powerOffFromInside(this.#region, vmid);
    else awaited(how);
  }
}
