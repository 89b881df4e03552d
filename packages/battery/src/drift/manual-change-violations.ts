import type { LocalScene } from "../job-kinds/local-scene.ts";
import type { Subject } from "../job-kinds/scene.ts";
import type { ManualChange, Victim } from "./manual-changes.ts";
import { reconcileViolations, refusedViolations } from "./reconcile-violations.ts";
import { inWords, type RegionScanner, type ReportedDrift } from "./region-scanner.ts";

/** A missing VM is first missed in the list, and then queried by its number. */
const scansToReport = ({ kind }: ManualChange) => (kind === "missing" ? 3 : kind === "power" ? 1 : 2);

/**
 * Makes the manual change, scans, and returns what was not reported, reported wrongly, or done about it.
 * Reverts the change.
 */
export async function manualChangeViolations(
  scene: LocalScene,
  testScanner: RegionScanner,
  victim: Victim,
  manualChange: ManualChange,
  lost: ReadonlySet<number>,
): Promise<string[]> {
  const found: string[] = [];
  const jobsBefore = await jobCount(scene);
  const effectsBefore = effectsOfAgent(scene);
  const told = async () => (await testScanner.told()).filter(({ vmid }) => !lost.has(vmid));
  const undo = await manualChange.apply(scene, victim);
  for (let look = 0; look < scansToReport(manualChange); look += 1) await testScanner.look();
  found.push(
    ...reportedWrongly(manualChange, victim, await told()),
    ...(await shownWrongly(scene, manualChange, victim)),
  );
  // Whatever was to be done about it would be done now.
  if ((await jobCount(scene)) !== jobsBefore) found.push("there is a job that nobody asked for");
  if (effectsOfAgent(scene) !== effectsBefore) found.push("something was done in the region");
  const { server, organisation } = victim;
  const api = scene.operator.with({ "Kule-Organisation": organisation });
  const others = { network: "", loadBalancer: "", certificate: "" };
  const subject: Subject = { name: "", organisation, api, server, ...others };
  found.push(...(await refusedViolations(subject, manualChange)));
  if (manualChange.isFinal) return found;
  await undo();
  await testScanner.look();
  const after = inWords(await told());
  if (after !== "nothing") found.push(`when it was taken back is still told: ${after}`);
  const { body } = await api.get(`/servers/${victim.server}`);
  if (body.drift !== null || body.status !== "running")
    found.push(
      `when it was taken back the server is ${body.status} with drift ${JSON.stringify(body.drift)}`,
    );
  return found.length > 0
    ? found
    : reconcileViolations(scene, testScanner, subject, manualChange, victim, lost);
}

/** Only this drift is reported, with its name: nothing may be reported of any other VM. */
function reportedWrongly(
  { kind, field, at }: ManualChange,
  victim: Victim,
  told: readonly ReportedDrift[],
): string[] {
  if (kind === "power") return told.length === 0 ? [] : [`it is told as ${inWords(told)}`];
  const vmid = at?.(victim) ?? victim.vmid;
  const [only, ...more] = told;
  const isRight =
    only !== undefined &&
    more.length === 0 &&
    only.kind === kind &&
    only.vmid === vmid &&
    only.server === (kind === "changed" || kind === "missing" ? victim.server : null) &&
    (field === undefined || only.fields.length > 0) &&
    only.fields.every((each) => field?.test(each));
  return isRight ? [] : [`it is told as ${inWords(told)}, and not as ${kind} ${vmid} ${field ?? ""}`];
}

async function shownWrongly(scene: LocalScene, { kind }: ManualChange, victim: Victim): Promise<string[]> {
  const { body } = await scene.operator
    .with({ "Kule-Organisation": victim.organisation })
    .get(`/servers/${victim.server}`);
  const shown = `${body.status} ${body.power_state} ${body.drift?.kind ?? "as wanted"}`;
  const wanted = {
    changed: /(running on|error unknown) changed/,
    missing: /error unknown missing/,
    foreign: /running on as wanted/,
    extra: /running on as wanted/,
    power: /stopped off as wanted/,
  }[kind];
  return wanted.test(shown) ? [] : [`the server is shown as ${shown}`];
}

async function jobCount(scene: LocalScene): Promise<number> {
  const { rows } = await scene.owner.query<{ count: number }>("select count(*)::integer as count from job");
  return rows[0]?.count ?? 0;
}

/** What the agent's token did, not the people of the region. */
function effectsOfAgent(scene: LocalScene): number {
  const { lab } = scene.lab;
  return lab.journal().filter(({ user }) => user === lab.tokenId).length;
}
