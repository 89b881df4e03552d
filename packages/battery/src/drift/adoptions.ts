import type { LocalScene } from "../job-kinds/local-scene.ts";
import { removeServer } from "../job-kinds/remove-server.ts";
import { SCENARIOS } from "../job-kinds/scenarios.ts";
import { latestJob, newSubject, type Subject, vmidOf } from "../job-kinds/scene.ts";
import { inWords, type RegionScanner } from "./region-scanner.ts";

/** What an import may write on a VM; everything else is its owner's. */
const MARKS: ReadonlySet<string> = new Set(["name", "description", "tags", "digest"]);

/** Imports a VM, and another one whose import is called off after it was marked. */
export async function adoptionViolations(
  scene: LocalScene,
  testScanner: RegionScanner,
  lost: ReadonlySet<number>,
): Promise<string[]> {
  const taken = await takenOver(scene, testScanner, lost);
  const off = await calledOff(scene, testScanner, lost);
  return [
    ...taken.map((text) => `a VM that was taken over: ${text}`),
    ...off.map((text) => `an import that was called off: ${text}`),
  ];
}

const configOf = (scene: LocalScene, vmid: number) => scene.lab.lab.control.vm(vmid)?.config ?? {};

const withoutMarks = (config: Readonly<Record<string, string>>) =>
  JSON.stringify(
    Object.entries(config)
      .filter(([key]) => !MARKS.has(key))
      .sort(),
  );

async function toldAt(testScanner: RegionScanner, vmid: number, lost: ReadonlySet<number>): Promise<string> {
  for (let look = 0; look < 2; look += 1) await testScanner.look();
  const told = (await testScanner.told()).filter((each) => !lost.has(each.vmid));
  const others = told.filter((each) => each.vmid !== vmid);
  return others.length > 0 ? `of others: ${inWords(others)}` : inWords(told);
}

async function takenOver(scene: LocalScene, testScanner: RegionScanner, lost: ReadonlySet<number>) {
  const subject = await newSubject(scene);
  await SCENARIOS.ServerAdopt.cause(scene, subject);
  const vmid = await vmidOf(scene, subject);
  const before = withoutMarks(configOf(scene, vmid));
  const job = await scene.work(subject, "ServerAdopt");
  const found: string[] = [];
  if (job.status !== "succeeded") found.push(`its job is ${job.status}`);
  const told = await toldAt(testScanner, vmid, lost);
  // The VM belongs to the server, and its differences from the server's package are reported.
  if (
    !told.startsWith(`changed ${vmid} (`) ||
    /interface 0 (mac|vlan|bridge)|tags|name|marker|pool/.test(told)
  )
    found.push(`it is told as ${told}`);
  if (withoutMarks(configOf(scene, vmid)) !== before) found.push("more than its marks was changed");
  if (poolOf(scene, vmid) !== `kule-${subject.organisation}`)
    found.push(`it is in the pool ${poolOf(scene, vmid)}`);
  return found;
}

const poolOf = (scene: LocalScene, vmid: number): string | null => scene.lab.lab.control.poolOf(vmid);

async function calledOff(scene: LocalScene, testScanner: RegionScanner, lost: ReadonlySet<number>) {
  const subject = await newSubject(scene);
  await SCENARIOS.ServerAdopt.cause(scene, subject);
  const vmid = await vmidOf(scene, subject);
  const { description, tags } = configOf(scene, vmid);
  const rest = withoutMarks(configOf(scene, vmid));
  const { faults } = scene.lab.lab;
  // The VM is marked and in its pool, but no longer visible.
  let hasJoined = false;
  const job = await scene.work(subject, "ServerAdopt", {
    onEvent: ({ name }) => {
      hasJoined ||= name === "join-pool";
      if (hasJoined && name === "verify")
        faults.add({ method: "GET", action: "status-before", status: 403, count: 0 });
    },
  });
  faults.clear();
  if (job.status !== "failed") return [`its job is ${job.status}, though nothing could be verified`];
  if (!configOf(scene, vmid).description?.includes(subject.server))
    return ["nothing was marked before it failed"];
  if (poolOf(scene, vmid) === null) return ["it was in no pool before it failed"];
  const found: string[] = [];
  const left = await removeServer(scene, subject, (each, kind) => scene.work(each, kind));
  if (left !== null) found.push(`its server cannot be removed: ${left}`);
  const now = configOf(scene, vmid);
  if (now.description !== description || (now.tags ?? "") !== (tags ?? ""))
    found.push(`its marks are left behind: ${now.description} ${now.tags}`);
  if (withoutMarks(now) !== rest) found.push("more than its marks was changed");
  if (poolOf(scene, vmid) !== null) found.push(`it is left in the pool ${poolOf(scene, vmid)}`);
  const others = new Set([...lost, ...(await adopted(scene))]);
  const told = await toldAt(testScanner, vmid, others);
  if (told !== `foreign ${vmid}`) found.push(`it is told as ${told}, and not as the stranger that it is`);
  if (found.length === 0) found.push(...(await again(scene, subject, vmid)));
  return found;
}

/** Numbers of the adopted VMs: they differ from their packages, and that is reported. */
async function adopted(scene: LocalScene): Promise<number[]> {
  const { rows } = await scene.owner.query<{ vmid: number }>(
    `select vmid from region_vmid v join job j on j.resource_id = v.server_id
      where v.state = 'used' and j.kind = 'ServerAdopt' and j.status = 'succeeded'`,
  );
  return rows.map(({ vmid }) => vmid);
}

/** The same number, imported again. */
async function again(scene: LocalScene, subject: Subject, vmid: number): Promise<string[]> {
  const { body } = await subject.api.get("/networks");
  const subnets = await subject.api.get(`/networks/${body.items[0].id}/subnets`);
  const answer = await subject.api.post("/servers/import", {
    name: `${subject.name}-again`,
    region: scene.region,
    vmid,
    image: scene.image,
    package: "s",
    subnet_id: subnets.body.items[0].id,
  });
  if (answer.status !== 202)
    return [`it cannot be imported again: ${answer.status} ${JSON.stringify(answer.body)}`];
  subject.server = answer.body.server.id;
  await scene.work(subject, "ServerAdopt");
  const job = await latestJob(scene, subject, "ServerAdopt");
  return job?.status === "succeeded" ? [] : [`its second import is ${job?.status}`];
}
