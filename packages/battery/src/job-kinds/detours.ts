import type { ServerJobKind } from "@kule/contract/schemas";
import type { StepEvent } from "@kule/programs/program";
import type { LocalScene } from "./local-scene.ts";
import { power, resetPassword, SCENARIOS } from "./scenarios.ts";
import type { Subject } from "./scene.ts";
import { createWindows, rebuildAsWindows } from "./windows-servers.ts";

/**
 * A course of a job with steps that the plain one does not have: something else happens in the region at the
 * same time. Called with each step as it begins.
 */
export type Detour = {
  readonly name: string;
  /** Needs a token that may do more than an agent's. */
  readonly isPrivileged?: true;
  /** Causes the job on this course, where it differs from the usual cause. */
  cause?(subject: Subject, scene: LocalScene): Promise<void>;
  /** As of a scenario, for steps that only this course has. */
  readonly repeatsFirst?: { readonly [step: string]: string };
  interfere(scene: LocalScene, vmid: number, step: string): void | Promise<void>;
  /** Its guest must have been started by the job. */
  readonly startsGuest?: true;
  /** The VM has no owner when the job fails: the server cannot be removed until it is reconciled. */
  readonly takesMarker?: true;
};

/** Without its note it is not known that the guest was given the password. */
const asWindows = { note: "set-password" };
const plain: Detour = { name: "plainly", interfere: () => {} };
const pausedAtFirst: Detour = {
  name: "of a paused guest",
  interfere: async (scene, vmid, step) => {
    if (step === "observe") await scene.pauseGuest(vmid);
  },
};

/** Every way on which the steps of a kind are to be met; together they pass all of them (A3 checks that). */
export const DETOURS: { readonly [Kind in ServerJobKind]: readonly Detour[] } = {
  ServerCreate: [
    plain,
    {
      name: "powered on half made",
      interfere: ({ lab }, vmid, step) => {
        if (step === "firewall") lab.lab.control.setPower(vmid, true);
      },
    },
    {
      ...plain,
      name: "as a Windows",
      cause: (subject, scene) => createWindows(scene, subject),
      repeatsFirst: asWindows,
    },
  ],
  ServerAdopt: [plain],
  ServerStop: [plain, pausedAtFirst],
  ServerRestore: [plain],
  ServerDestroy: [
    plain,
    {
      name: "powered on in its buffer",
      interfere: ({ lab }, vmid, step) => {
        if (step === "observe") lab.lab.control.setPower(vmid, true);
      },
    },
    {
      name: "with a volume that stays",
      isPrivileged: true,
      interfere: ({ lab }, vmid, step) => {
        const { stuckVolumes } = lab.lab.faults.tasks;
        if (step === "destroy") for (const volume of lab.lab.control.volumes(vmid)) stuckVolumes.add(volume);
        if (step === "free-volumes") stuckVolumes.clear();
      },
    },
  ],
  ServerPower: [
    plain,
    pausedAtFirst,
    {
      name: "of a guest that moves to another node and back",
      startsGuest: true,
      interfere: ({ lab }, vmid, step) => {
        if (step !== "shut-down") return;
        const home = lab.lab.control.vm(vmid)?.node ?? "pve1";
        lab.lab.control.migrateVm(vmid, home === "pve1" ? "pve2" : "pve1");
        lab.lab.control.migrateVm(vmid, home);
      },
    },
    { ...plain, name: "as a reset", cause: (subject) => power(subject, { action: "reset" }) },
  ],
  ServerResize: [plain, pausedAtFirst],
  PublicIpAttach: [
    plain,
    {
      name: "without a guest agent",
      interfere: ({ lab }, vmid, step) => {
        if (step === "observe") lab.lab.faults.tasks.agentless.add(vmid);
      },
    },
  ],
  PublicIpDetach: [
    plain,
    {
      name: "of a guest that booted with it",
      // From its drive, and the guest agent that was used before is gone.
      interfere: ({ lab }, vmid, step) => {
        if (step !== "observe") return;
        const { net1, ipconfig0 } = lab.lab.control.vm(vmid)?.config ?? {};
        if (net1 !== undefined && ipconfig0 !== undefined)
          lab.lab.control.editConfig(vmid, { ipconfig1: "ip=198.51.100.9/24" });
      },
    },
  ],
  ServerRebuild: [
    plain,
    {
      name: "powered on half made",
      interfere: ({ lab }, vmid, step) => {
        if (step === "firewall") lab.lab.control.setPower(vmid, true);
      },
    },
    {
      name: "of an unprotected VM with a volume that stays",
      isPrivileged: true,
      interfere: (scene, vmid, step) => {
        if (step === "observe") scene.lab.lab.control.editConfig(vmid, {}, ["protection"]);
        const { stuckVolumes } = scene.lab.lab.faults.tasks;
        if (step === "destroy")
          for (const volume of scene.lab.lab.control.volumes(vmid)) stuckVolumes.add(volume);
        if (step === "free-volumes") stuckVolumes.clear();
      },
    },
    {
      ...plain,
      name: "as a Windows",
      cause: (subject, scene) => rebuildAsWindows(scene, subject),
      repeatsFirst: asWindows,
    },
  ],
  ServerPasswordReset: [
    plain,
    {
      ...plain,
      name: "at the next start",
      cause: (subject) => resetPassword(subject, "next_boot"),
    },
  ],
  ServerUpdate: [plain],
  ServerReconcile: [
    plain,
    {
      name: "of a VM without its marker",
      takesMarker: true,
      interfere: ({ lab }, vmid, step) => {
        if (step === "observe") lab.lab.control.editConfig(vmid, { description: "mine now" });
      },
    },
  ],
  FirewallApply: [plain],
};

/** Causes a job of the kind as the detour has it. */
export async function cause(
  scene: LocalScene,
  subject: Subject,
  kind: ServerJobKind,
  detour: Detour,
): Promise<void> {
  if (detour.cause === undefined) await SCENARIOS[kind].cause(scene, subject);
  else await detour.cause(subject, scene);
}

/** A listener to a job's steps that goes the detour. Each step is met once, in the first attempt that begins it. */
export function onDetour(
  scene: LocalScene,
  detour: Detour,
  vmid: number,
): (event: StepEvent) => Promise<void> {
  const begun = new Set<string>();
  return async ({ name, status }) => {
    if (status !== "running" || begun.has(name)) return;
    begun.add(name);
    await detour.interfere(scene, vmid, name);
  };
}
