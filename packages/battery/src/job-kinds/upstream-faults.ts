import type { ServerJobKind } from "@kule/contract/schemas";
import type { HttpFault } from "@kule/lab/http/http-faults";
import type { KnownStep } from "./failing-steps.ts";
import type { LocalScene } from "./local-scene.ts";

/** How long a byte takes from a region that drips: an answer of a few bytes outlasts every deadline. */
const DRIP_MILLISECONDS = 1_000;

/** A fault of a region during a step. */
export type UpstreamFault = {
  readonly name: string;
  /** Whether the step of a job of this kind can meet it. */
  meets(kind: ServerJobKind, step: KnownStep): boolean;
  begin(scene: LocalScene, step: string, vmid: number): void;
  /** Passes when the job is tried for the third time; a fault that hits once needs no end. */
  end?(scene: LocalScene): void;
  /** Codes that a job may fail with permanently; without any it has to succeed. */
  readonly mayFailWith?: readonly string[];
  /** What an operator does about a failed job before retrying it. */
  repair?(scene: LocalScene): void;
};

const isLook = (step: string) => step === "observe" || step === "verify";
const everywhere = () => true;
const inTasks = (_: ServerJobKind, { hasTask }: KnownStep) => hasTask;

function http(name: string, fault: Pick<HttpFault, "action" | "status" | "milliseconds">): UpstreamFault {
  return {
    name,
    meets: everywhere,
    begin: (scene, step) => {
      for (const method of isLook(step) ? ["GET"] : ["POST", "PUT", "DELETE"])
        scene.lab.lab.faults.add({ method, ...fault, count: 1 });
    },
  };
}

/** The guests of a returned node are started again, by their `onboot`. */
function nodesUp({ lab: { lab } }: LocalScene): void {
  for (const node of ["pve1", "pve2"]) lab.control.nodeUp(node);
  for (const { vmid, config, process } of lab.control.vms())
    if (config.onboot === "1" && process === null && config.lock === undefined)
      lab.control.setPower(vmid, true);
}

export const UPSTREAM_FAULTS: readonly UpstreamFault[] = [
  http("500", { action: "status-before", status: 500 }),
  http("500 after the effect", { action: "status-after", status: 500 }),
  http("502", { action: "status-before", status: 502 }),
  http("502 after the effect", { action: "status-after", status: 502 }),
  http("595", { action: "status-before", status: 595 }),
  http("596 after the effect", { action: "status-after", status: 596 }),
  http("no answer", { action: "hang-before" }),
  http("no answer after the effect", { action: "hang-after" }),
  http("an answer of one byte a second", { action: "drip", milliseconds: DRIP_MILLISECONDS }),
  http("garbage for JSON", { action: "garbage" }),
  http("a wrong Content-Length", { action: "wrong-length" }),
  {
    name: "a region that answers 500 for two attempts",
    meets: everywhere,
    begin: ({ lab }) => void lab.lab.faults.add({ action: "status-before", status: 500, count: 0 }),
    end: ({ lab }) => lab.lab.faults.clear(),
  },
  {
    name: "a task that never ends",
    meets: inTasks,
    begin: ({ lab }) => lab.lab.faults.tasks.add({ action: "never-ends" }),
    mayFailWith: ["vm_locked"],
    // A worker process ends with its node at the latest.
    repair: (scene) => {
      scene.lab.lab.control.nodeDown("pve1");
      nodesUp(scene);
    },
  },
  {
    name: "a task that ends OK and has done nothing",
    meets: inTasks,
    begin: ({ lab }) => lab.lab.faults.tasks.add({ action: "ok-without-effect" }),
    mayFailWith: ["not_converged"],
  },
  {
    name: "tasks that cannot get their lock",
    meets: inTasks,
    begin: ({ lab }) =>
      lab.lab.faults.tasks.add({
        action: "error",
        // As often as a plan is made anew in one attempt: a driver that does not read results gives up then.
        count: 4,
        text: "can't lock file '/var/lock/qemu-server/lock-100.conf' - got timeout",
      }),
  },
  {
    name: "a clone that dies and leaves its lock",
    meets: (_, { name }) => name === "clone",
    begin: ({ lab }) => lab.lab.faults.tasks.add({ type: "qmclone", action: "killed", stage: "copy-data" }),
  },
  {
    name: "a node that goes down for two attempts",
    meets: everywhere,
    begin: ({ lab }) => lab.lab.control.nodeDown("pve1"),
    end: nodesUp,
  },
  {
    name: "a quorum that is lost for two attempts",
    meets: everywhere,
    begin: ({ lab }) => lab.lab.control.loseQuorum(),
    end: ({ lab }) => lab.lab.control.regainQuorum(),
  },
];
