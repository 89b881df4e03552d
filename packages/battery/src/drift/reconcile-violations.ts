import { parseNetDevice } from "@kule/proxmox/property-string";
import type { LocalScene } from "../job-kinds/local-scene.ts";
import { latestJob, type Subject } from "../job-kinds/scene.ts";
import type { ManualChange, Victim } from "./manual-changes.ts";
import { inWords, type RegionScanner } from "./region-scanner.ts";

type Configs = readonly { readonly config: Readonly<Record<string, string>>; readonly at: number }[];

/** How the reconciliation is refused, where it is not possible. */
export async function refusedViolations(subject: Subject, manualChange: ManualChange): Promise<string[]> {
  const name =
    manualChange.kind === "missing"
      ? "server_has_its_vm"
      : manualChange.isLeft
        ? "drift_can_be_put_right"
        : null;
  if (name === null) return [];
  const { status, body } = await subject.api.post(`/servers/${subject.server}/reconcile`);
  return status === 409 && body.precondition?.name === name
    ? []
    : [`to put it right is answered with ${status} ${JSON.stringify(body)}, and not with ${name}`];
}

/**
 * Repeats the manual change, lets an operator reconcile it, and returns what differs from before, or was open
 * in between.
 */
export async function reconcileViolations(
  scene: LocalScene,
  testScanner: RegionScanner,
  subject: Subject,
  manualChange: ManualChange,
  victim: Victim,
  lost: ReadonlySet<number>,
): Promise<string[]> {
  if (manualChange.kind !== "changed" || manualChange.isFinal || manualChange.isLeft) return [];
  const configOf = () => ({ ...(scene.lab.lab.control.vm(victim.vmid)?.config ?? {}) });
  const before = configOf();
  const undo = await manualChange.apply(scene, victim);
  const changed = JSON.stringify(configOf());
  const answer = await subject.api.post(`/servers/${subject.server}/reconcile`);
  if (answer.status !== 202)
    return [`nobody may put it right: ${answer.status} ${JSON.stringify(answer.body)}`];
  const seen: Configs[number][] = [];
  const watch = () => void seen.push({ config: configOf(), at: scene.lab.world.runtime.now() });
  await scene.work(subject, "ServerReconcile", { onEvent: watch });
  const job = await latestJob(scene, subject, "ServerReconcile");
  const found: string[] = [];
  if (manualChange.isAnothers) {
    if (job?.status !== "failed") found.push(`the job that was to put it right is ${job?.status}`);
    if (JSON.stringify(configOf()) !== changed) found.push("the job that was to put it right has changed it");
    await undo();
    // What a failed job has left of the filter is not known: it is written again.
    await scene.work(subject, "FirewallApply");
  } else if (job?.status !== "succeeded")
    return [`the job that was to put it right is ${job?.status}: ${job?.internal_error}`];
  await testScanner.look();
  const told = (await testScanner.told()).filter(({ vmid }) => !lost.has(vmid));
  if (told.length > 0) found.push(`when it was put right is still told: ${inWords(told)}`);
  const roundMs = scene.lab.world.settings.firewallRoundMs;
  return manualChange.isAnothers ? found : [...found, ...openViolations(seen, before, roundMs)];
}

/** An interface that was wrong and is right is connected when a round of the hypervisor's firewall is over since. */
function openViolations(seen: Configs, before: Readonly<Record<string, string>>, roundMs: number): string[] {
  return ["net0", "net1"].flatMap((key) => {
    const placeOf = (text: string | undefined): string => {
      const { mac, bridge, vlan, firewall, extra } = parseNetDevice(text ?? "");
      return JSON.stringify([mac, bridge, vlan, firewall, extra.get("trunks") ?? null]);
    };
    const isRight = (text: string | undefined) => placeOf(text) === placeOf(before[key]);
    const [first] = seen;
    if (first === undefined || isRight(first.config[key])) return [];
    const changed = seen.find(({ config }) => isRight(config[key]));
    const opened = seen.find(({ config }) => isRight(config[key]) && !config[key]?.includes("link_down=1"));
    if (changed === undefined || opened === undefined) return [`${key} was never seen to be right`];
    return opened.at - changed.at >= roundMs
      ? []
      : [
          `${key} was connected ${opened.at - changed.at} ms after it was changed, before its rules were in force`,
        ];
  });
}
