// What people ask for: servers, their removal, and second thoughts about both.

import type { Simulation } from "./simulation.ts";

/** Starts asking; `done` says how much has been asked so far. */
export function startWishes(simulation: Simulation): { done(): number } {
  const { plan, clock, model } = simulation;
  const dice = simulation.dice.fork();
  let done = 0;
  const wish = (name: string, act: () => { status: number }) => {
    done += 1;
    simulation.mark(name, String(act().status));
  };
  for (let count = 0; count < plan.servers; count++)
    clock.after(dice.between(0, plan.troubleSeconds * 400), () => {
      if (dice.chance(plan.strangers)) placeStranger(simulation, dice.chance(0.5));
      wish("create", () => model.createServer(!dice.chance(0.2)));
    });
  const someServer = () => {
    const servers = [...model.state.servers.values()];
    return servers[dice.whole(0, Math.max(0, servers.length - 1))]?.id ?? "srv_none";
  };
  const someJob = () =>
    model.state.jobs[dice.whole(0, Math.max(0, model.state.jobs.length - 1))]?.id ?? "job_none";
  for (let count = 0; count < plan.wishes; count++) {
    const kind = dice.pick(["delete", "delete", "delete", "cancel", "retry"]);
    const at = dice.between(1, plan.troubleSeconds) * 1000;
    clock.after(at, () => {
      if (kind === "cancel") return wish(kind, () => model.cancelJob(someJob()));
      if (kind === "retry")
        return wish(kind, () =>
          model.retryJob(model.state.jobs.find((job) => job.status === "failed")?.id ?? someJob()),
        );
      const server = someServer();
      wish(kind, () => model.deleteServer(server));
      // Second thoughts come soon, late, at the very end of the buffer, or never.
      const buffer = plan.removalBufferSeconds * 1000;
      const thought = dice.pick([null, null, 2_000, 30_000, buffer * 0.9, buffer, buffer + 5_000]);
      if (thought === null) return;
      clock.after(dice.between(0.8, 1) * thought, () => wish("keep", () => model.cancelDeletion(server)));
    });
  }
  return { done: () => done };
}

/** Somebody's VM under the number that the next server will be given. */
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
