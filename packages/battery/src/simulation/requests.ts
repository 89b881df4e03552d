// The requests of people: servers, every operation on one, their removal, and cancelling it.

import type { ModelServer } from "../reference-model/types.ts";
import type { Dice } from "./dice.ts";
import {
  adoptServer,
  askOfServer,
  attachPublicIp,
  cancelDeletion,
  cancelJob,
  createServer,
  deleteServer,
  detachPublicIp,
  purgeServer,
  retryJob,
  type ServerRequest,
} from "./model-requests.ts";
import type { Simulation } from "./simulation.ts";

/** A person who finds a server busy repeats the request, so often and after so long. */
const ASKED_AGAIN = 8;
const TIMEOUT_MILLISECONDS = [4_000, 25_000] as const;
const REMOVALS = ["delete", "delete", "delete", "delete", "purge", "cancel", "retry"] as const;

/** Starts sending requests; `done` returns how many were sent so far. */
export function startRequests(simulation: Simulation): { done(): number } {
  const { plan, clock, model } = simulation;
  const dice = simulation.dice.fork();
  let done = 0;
  const wish = (name: string, act: () => { status: number }) => {
    done += 1;
    const { status } = act();
    simulation.mark(name, String(status));
    return status < 300;
  };
  for (let count = 0; count < plan.servers; count++)
    clock.after(dice.between(0, plan.faultSeconds * 400), () => {
      if (dice.chance(plan.strangers)) placeStranger(simulation, dice.chance(0.5));
      wish("create", () => createServer(model, !dice.chance(0.2)));
    });
  for (let count = 0; count < plan.adoptions; count++)
    clock.after(dice.between(0, plan.faultSeconds * 400), () => {
      const vmid = placeMadeByHand(simulation, dice);
      wish("adopt", () => adoptServer(model, vmid, `moved-${vmid}`));
      // It is protected, and may be removed like any other.
      const server = model.state.servers.at(-1);
      if (server !== undefined)
        wish("unprotect", () =>
          askOfServer(model, server, { to: "update", protection: { delete: false, rebuild: false } }),
        );
    });
  const someServer = () => {
    const { servers } = model.state;
    return servers[dice.whole(0, Math.max(0, servers.length - 1))];
  };
  const someJob = () => model.state.jobs[dice.whole(0, Math.max(0, model.state.jobs.length - 1))];
  for (let count = 0; count < plan.wishes; count++) {
    const kind = dice.pick(REMOVALS);
    const at = dice.between(1, plan.faultSeconds) * 1000;
    clock.after(at, () => {
      if (kind === "cancel") return wish(kind, () => cancelJob(model, someJob()));
      if (kind === "retry")
        return wish(kind, () =>
          retryJob(model, model.state.jobs.find((job) => job.status === "failed") ?? someJob()),
        );
      const server = someServer();
      if (kind === "purge") return wish(kind, () => purgeServer(model, server));
      wish(kind, () => deleteServer(model, server));
      // A removal is cancelled soon, late, at the very end of the buffer, or never.
      const buffer = plan.removalBufferSeconds * 1000;
      const thought = dice.pick([null, null, 2_000, 30_000, buffer * 0.9, buffer, buffer + 5_000]);
      if (thought === null) return;
      clock.after(dice.between(0.8, 1) * thought, () => wish("keep", () => cancelDeletion(model, server)));
    });
  }
  for (let count = 0; count < plan.acts; count++) {
    const act = drawAct(simulation, dice);
    const ask = (left: number) => {
      if (!simulation.hasFaults) return;
      if (wish(act.name, () => act.ask(someServer())) || left === 0) return;
      clock.after(dice.between(...TIMEOUT_MILLISECONDS), () => ask(left - 1));
    };
    clock.after(dice.between(10, plan.faultSeconds) * 1000, () => ask(ASKED_AGAIN));
  }
  return { done: () => done };
}

type Act = { readonly name: string; ask(server: ModelServer | undefined): { status: number } };

/** One request for a server; random ones are tried until one is accepted. */
function drawAct({ model }: Simulation, dice: Dice): Act {
  const ofServer = (name: string, wish: ServerRequest): Act => ({
    name,
    ask: (server) => askOfServer(model, server, wish),
  });
  switch (
    dice.pick(["power", "power", "power", "resize", "resize", "rebuild", "password", "rename", "ip", "ip"])
  ) {
    case "power": {
      const action = dice.pick<"start" | "shutdown" | "stop" | "reboot" | "reset">([
        "start",
        "shutdown",
        "stop",
        "reboot",
        "reset",
      ]);
      const force = (action === "shutdown" || action === "reboot") && dice.chance(0.5);
      return ofServer(action, { to: "power", action, timeoutSeconds: dice.pick([10, 60]), force });
    }
    case "resize":
      return ofServer("resize", {
        to: "resize",
        slug: dice.pick(["s", "m", "l"]),
        allowRestart: dice.chance(0.7),
        growDisk: dice.chance(0.5),
      });
    case "rebuild":
      return ofServer("rebuild", { to: "rebuild", image: "ubuntu-24.04" });
    case "password":
      return ofServer("password", { to: "password", when: dice.pick(["now", "next_boot"]) });
    case "rename":
      return ofServer("rename", { to: "update", name: `other-${dice.hex(4)}` });
    default: {
      const ip = dice.whole(1, model.state.ips.length);
      const force = dice.chance(0.5);
      return dice.chance(0.7)
        ? { name: "attach", ask: (server) => attachPublicIp(model, ip, server, force) }
        : { name: "detach", ask: () => detachPublicIp(model, ip) };
    }
  }
}

function freeNumber(simulation: Simulation, from: number): number {
  let vmid = from;
  while (simulation.model.state.vmids.has(vmid) || simulation.region.vm(vmid) !== undefined) vmid += 1;
  return vmid;
}

/** A foreign VM with the number that the next server will get. */
function placeStranger(simulation: Simulation, isKuleOfAnother: boolean): void {
  const { state } = simulation.model;
  let vmid = state.settings.vmidRange.first;
  while (state.vmids.has(vmid)) vmid += 1;
  if (simulation.region.vm(vmid) !== undefined) return;
  simulation.region.world.stealVmid(vmid);
  if (isKuleOfAnother)
    simulation.region.world.editConfig(vmid, {
      description: "kule:v1 srv=srv_other org=org_other region=lab1 job=job_other",
    });
  simulation.witness.strangers.add(vmid);
  simulation.mark("stranger", String(vmid));
}

/** Numbers that no server gets by itself in a seed. */
const BY_HAND = 20_060;

/** A VM that was created manually, with an interface and a disk that must stay as they are. */
function placeMadeByHand(simulation: Simulation, dice: Dice): number {
  const vmid = freeNumber(simulation, BY_HAND);
  const { world } = simulation.region;
  world.stealVmid(vmid);
  const disk = world.leaveVolume("ceph-vm", vmid);
  const config = {
    net0: `virtio=0E:AA:00:00:00:${dice.hex(2).toUpperCase()},bridge=vmbr1,firewall=1,tag=120`,
    scsi0: `${disk},size=1G`,
    boot: "order=scsi0",
    description: "made by hand",
  };
  world.editConfig(vmid, config);
  if (dice.chance(0.5)) world.setPower(vmid, true);
  simulation.witness.madeByHand.set(vmid, config);
  simulation.mark("made by hand", String(vmid));
  return vmid;
}
