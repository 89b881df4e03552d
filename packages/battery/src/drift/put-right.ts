import { parseNetDevice } from "@kule/proxmox/property-string";
import type { LocalScene } from "../job-kinds/local-scene.ts";
import { latestJob, type Subject } from "../job-kinds/scene.ts";
import type { Meddling, Victim } from "./meddling.ts";
import { inWords, type RegionLooker } from "./region-looker.ts";

type Configs = readonly { readonly config: Readonly<Record<string, string>>; readonly at: number }[];

/** What an operator is told who would have it put right, where that cannot be. */
export async function refusedViolations(subject: Subject, meddling: Meddling): Promise<string[]> {
  const name =
    meddling.kind === "missing" ? "server_has_its_vm" : meddling.isLeft ? "drift_can_be_put_right" : null;
  if (name === null) return [];
  const { status, body } = await subject.api.post(`/servers/${subject.server}/reconcile`);
  return status === 409 && body.precondition?.name === name
    ? []
    : [`to put it right is answered with ${status} ${JSON.stringify(body)}, and not with ${name}`];
}

/** Meddles again, has an operator put it right, and answers what is not as it was, or was open on the way. */
export async function putRightViolations(
  scene: LocalScene,
  looker: RegionLooker,
  subject: Subject,
  meddling: Meddling,
  victim: Victim,
  lost: ReadonlySet<number>,
): Promise<string[]> {
  if (meddling.kind !== "changed" || meddling.isFinal || meddling.isLeft) return [];
  const configOf = () => ({ ...(scene.lab.lab.control.vm(victim.vmid)?.config ?? {}) });
  const before = configOf();
  const undo = await meddling.meddle(scene, victim);
  const meddled = JSON.stringify(configOf());
  const answer = await subject.api.post(`/servers/${subject.server}/reconcile`);
  if (answer.status !== 202)
    return [`nobody may put it right: ${answer.status} ${JSON.stringify(answer.body)}`];
  const seen: Configs[number][] = [];
  const watch = () => void seen.push({ config: configOf(), at: scene.lab.world.runtime.now() });
  await scene.work(subject, "ServerReconcile", { onEvent: watch });
  const job = await latestJob(scene, subject, "ServerReconcile");
  const found: string[] = [];
  if (meddling.isAnothers) {
    if (job?.status !== "failed") found.push(`the job that was to put it right is ${job?.status}`);
    if (JSON.stringify(configOf()) !== meddled) found.push("the job that was to put it right has changed it");
    await undo();
    // What a job that failed has left of the filter nobody knows: it is written again.
    await scene.work(subject, "FirewallApply");
  } else if (job?.status !== "succeeded")
    return [`the job that was to put it right is ${job?.status}: ${job?.internal_error}`];
  await looker.look();
  const told = (await looker.told()).filter(({ vmid }) => !lost.has(vmid));
  if (told.length > 0) found.push(`when it was put right is still told: ${inWords(told)}`);
  const roundMs = scene.lab.world.settings.firewallRoundMs;
  return meddling.isAnothers ? found : [...found, ...openViolations(seen, before, roundMs)];
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
