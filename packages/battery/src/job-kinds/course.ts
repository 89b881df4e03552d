import type { RegionJobKind, ServerJobKind } from "@kule/contract/schemas";
import { parseMarker } from "@kule/proxmox/marker";
import type { ObservedVm } from "@kule/testing/world-check/region-invariants";
import { filteredStartViolations } from "./filtered-start.ts";
import { SCENARIOS } from "./scenarios.ts";
import { type JobEndRow, type JobScene, latestJob, newSubject, type Subject } from "./scene.ts";

/** Does what agents have to do until the subject's latest job of the kind is over, and answers how it ended. */
export type Work = (subject: Subject, kind: RegionJobKind) => Promise<JobEndRow>;

/** A job from where it starts to where it ends. */
export type Course = {
  readonly kind: RegionJobKind;
  /** Prepares everything that the job needs, with healthy agents. */
  begin(scene: JobScene, work: Work): Promise<Subject>;
  cause(scene: JobScene, subject: Subject): Promise<void>;
  /** What is wrong after the job has succeeded. */
  violations(scene: JobScene, subject: Subject): Promise<string[]>;
};

/** The plain course of a kind of servers. */
export const courseOfServer = (kind: ServerJobKind): Course => ({
  kind,
  begin: (scene, work) => subjectFor(scene, kind, work),
  cause: (scene, subject) => SCENARIOS[kind].cause(scene, subject),
  violations: (scene, subject) => endViolations(scene, subject, kind),
});

/** Brings a new server to where a job of the kind starts from, with healthy agents. */
export async function subjectFor(scene: JobScene, kind: ServerJobKind, work: Work): Promise<Subject> {
  const { after } = SCENARIOS[kind];
  if (after === null) return newSubject(scene);
  const subject = await subjectFor(scene, after, work);
  await SCENARIOS[after].cause(scene, subject);
  const job = await work(subject, after);
  if (job.status !== "succeeded")
    throw new Error(`no server for ${kind}: ${after} of ${subject.server} ${describeJob(job)}`);
  return subject;
}

export function describeJob({ status, attempt, error, internal_error }: JobEndRow): string {
  const why = error === null ? "" : `: ${error.code} at ${error.step ?? "no step"}`;
  return `is ${status} in attempt ${attempt}${why}${internal_error === null ? "" : ` (${internal_error.slice(0, 300)})`}`;
}

/** What is wrong after a job of the kind has succeeded. */
export async function endViolations(
  scene: JobScene,
  subject: Subject,
  kind: ServerJobKind,
): Promise<string[]> {
  const what = `${kind} of ${subject.server}`;
  const job = await latestJob(scene, subject, kind);
  if (job === null) return [`${what}: there is no job`];
  if (job.status !== "succeeded") return [`${what} ${describeJob(job)}`];
  const { status, vm } = SCENARIOS[kind].succeeded;
  const { rows } = await scene.owner.query<{ status: string }>("select status from server where id = $1", [
    subject.server,
  ]);
  const found: string[] = [];
  if (rows[0]?.status !== status)
    found.push(`${what} has succeeded and the server is ${rows[0]?.status}, not ${status}`);
  const vms = await scene.vms();
  const there = powerOf(vms, subject);
  if (there !== vm) found.push(`${what} has succeeded and the VM is ${there}, not ${vm}`);
  if (kind === "ServerCreate") found.push(...(await filteredStartViolations(scene, subject)));
  if (vm === "absent") found.push(...(await remains(scene, subject)).map((text) => `${what}: ${text}`));
  return found;
}

function powerOf(all: readonly ObservedVm[], { server }: Subject): string {
  const vms = vmsOf(all, server);
  if (vms.length > 1) return `there ${vms.length} times`;
  const [vm] = vms;
  return vm === undefined ? "absent" : vm.running ? "running" : "stopped";
}

function vmsOf(all: readonly ObservedVm[], server: string) {
  return all.filter(({ description }) => parseMarker(description)?.serverId === server);
}

/** What is left of a server that is gone: allocations in the database; VMs, volumes and tags in the region. */
export async function remains(scene: JobScene, subject: Subject): Promise<string[]> {
  const { server, organisation } = subject;
  const vms = await scene.vms();
  const { rows } = await scene.owner.query<{ what: string }>(
    `select 'VM number ' || vmid || ' is still used' as what from region_vmid where server_id = $1 and state = 'used'
     union all select 'interface ' || id || ' is still there' from nic where server_id = $1
     union all select 'address ' || host(address) || ' is still used' from address
                where organisation_id = $2 and state = 'used'
     union all select 'its password is still kept' from server_secret where server_id = $1`,
    [server, organisation],
  );
  const vmids = await scene.owner.query<{ vmid: number }>(
    "select vmid from region_vmid where server_id = $1 and region = $2",
    [server, scene.region],
  );
  const volumes = await Promise.all(vmids.rows.map(({ vmid }) => scene.volumes(vmid)));
  return [
    ...rows.map(({ what }) => what),
    ...vmsOf(vms, server).map(({ vmid }) => `VM ${vmid} is still there`),
    ...vms
      .filter(({ config }) => config?.tags?.split(";").includes(organisation))
      .map(({ vmid }) => `VM ${vmid} still carries its organisation's tag`),
    ...volumes.flat().map((volume) => `volume ${volume} is still there`),
  ];
}
