// The lab in memory, on the simulation's clock: the region that agents of one seed share.

import type { VmDocument } from "@kule/lab/documents";
import type { Change, Effect } from "@kule/lab/journal";
import { makeRegion, type Region } from "@kule/lab/region";
import type { Runtime } from "@kule/lab/runtime";
import { AGENT_TOKEN, seedRegion, TEMPLATES } from "@kule/lab/seed";
import { documentsOf, memoryStore } from "@kule/lab/store";
import { makeWorld, type World } from "@kule/lab/world";
import type { RegionSettings } from "@kule/programs/region-settings";
import type { VirtualClock } from "./clock.ts";
import type { Dice } from "./dice.ts";

export const TEMPLATE = 9000;

export const REGION_SETTINGS: RegionSettings = {
  region: "lab1",
  poolPrefix: "kule",
  diskStorage: "ceph-vm",
  fullClone: true,
  bridge: "vmbr1",
  firewallRoundMs: 12_000,
  publicNetwork: { bridge: "vmbr0", vlan: 10 },
  templates: { "ubuntu-24.04": { vmid: TEMPLATE } },
  targetNodes: null,
};

export class SimulatedRegion {
  readonly region: Region;
  readonly world: World;
  readonly token: { readonly tokenId: string; readonly tokenSecret: string };

  constructor(clock: VirtualClock, dice: Dice, pace: number, record: (at: number, effect: Effect) => void) {
    const runtime = runtimeOf(clock, dice, pace);
    const store = memoryStore(() => clock.now(), seededDocuments(), record);
    this.region = makeRegion(runtime, store, "9.2");
    this.world = makeWorld(this.region);
    this.token = { tokenId: AGENT_TOKEN, tokenSecret: store.get("token", AGENT_TOKEN)?.secret ?? "" };
  }

  vms(): VmDocument[] {
    return this.region.store.all("vm").filter(({ vmid }) => vmid !== TEMPLATE);
  }

  vm(vmid: number): VmDocument | undefined {
    return this.region.store.get("vm", String(vmid));
  }

  volumesOf(vmid: number): string[] {
    return this.region.store
      .all("volume")
      .filter((volume) => volume.vmid === vmid)
      .map(({ volid }) => volid);
  }

  /** Ends the tasks that would never end. */
  killStuckTasks(): void {
    for (const task of this.region.live.values()) task.kill();
  }
}

function runtimeOf(clock: VirtualClock, dice: Dice, pace: number): Runtime {
  const pause = (milliseconds: number) =>
    new Promise<void>((resolve) => void clock.after(milliseconds, resolve));
  return {
    timeScale: 1,
    nowMs: () => clock.now(),
    wait: (seconds) => pause(seconds * 1000 * pace),
    sleepMs: pause,
    after: (milliseconds, callback) => clock.after(milliseconds, callback),
    random: dice.random,
  };
}

let seeded: readonly Change[] | null = null;

/** A seeded region with one template: created once, because a seed of the simulation changes copies only. */
function seededDocuments(): readonly Change[] {
  if (seeded !== null) return seeded;
  const store = memoryStore(() => 0);
  const runtime: Runtime = {
    timeScale: 1,
    nowMs: () => 0,
    wait: async () => {},
    sleepMs: async () => {},
    after: () => () => {},
    random: () => 0.5,
  };
  seedRegion(makeRegion(runtime, store, "9.2"));
  const others = TEMPLATES.map(({ vmid }) => vmid).filter((vmid) => vmid !== TEMPLATE);
  const isOther = (id: string) => others.some((vmid) => new RegExp(`(^|-)${vmid}($|-)`).test(id));
  seeded = documentsOf(store).filter(
    ([collection, id]) => !((collection === "vm" || collection === "volume") && isOther(id)),
  );
  return seeded;
}
