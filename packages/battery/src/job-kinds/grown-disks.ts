import type { StepEvent } from "@kule/programs/program";
import { bootDiskOf } from "@kule/proxmox/disks";
import type { RegionScanner } from "../drift/region-scanner.ts";
import { subjectFor, type Work } from "./course.ts";
import type { LocalScene } from "./local-scene.ts";
import { SCENARIOS } from "./scenarios.ts";
import { type Subject, vmidOf } from "./scene.ts";

const gib = 2 ** 30;

/** Ways in which a resize ends after the disk has grown. */
const ENDS: readonly {
  readonly name: string;
  /** The step whose calls fail, by their methods. */
  readonly step: string;
  readonly methods: readonly string[];
  readonly status: number;
  /** The job could read the disk's size; otherwise the next scan of the region reports it. */
  readonly jobReports: boolean;
  readonly isDeleted?: boolean;
}[] = [
  { name: "refused later", step: "configure", methods: ["PUT", "POST"], status: 403, jobReports: true },
  {
    name: "given up for a removal",
    step: "configure",
    methods: ["PUT", "POST"],
    status: 500,
    jobReports: true,
    isDeleted: true,
  },
  {
    name: "never read back",
    step: "configure",
    methods: ["GET", "PUT", "POST"],
    status: 500,
    jobReports: false,
  },
];

/** A resize that fails after the disk has grown: the disk is recorded, and counted, as large as it is. */
export async function grownDiskViolations(
  scene: LocalScene,
  testScanner: RegionScanner,
  work: Work,
): Promise<string[]> {
  const violations: string[] = [];
  for (const end of ENDS) {
    const subject = await subjectFor(scene, "ServerResize", work);
    await SCENARIOS.ServerResize.cause(scene, subject);
    let isInstalled = false;
    const onEvent = async ({ name, status }: StepEvent) => {
      if (isInstalled || name !== end.step || status !== "running") return;
      isInstalled = true;
      for (const method of end.methods)
        scene.lab.lab.faults.add({ method, action: "status-before", status: end.status, count: 0 });
      if (end.isDeleted) await subject.api.delete(`/servers/${subject.server}`);
    };
    const job = await scene.work(subject, "ServerResize", { onEvent });
    scene.lab.lab.faults.clear();
    if (job.status === "succeeded" || !isInstalled) violations.push(`a resize ${end.name} did not fail`);
    if (end.isDeleted) await scene.work(subject, "ServerStop");
    if (!end.jobReports) await testScanner.look();
    violations.push(...(await unrecorded(scene, subject)).map((text) => `a resize ${end.name}: ${text}`));
  }
  return violations;
}

async function unrecorded(scene: LocalScene, subject: Subject): Promise<string[]> {
  const vmid = await vmidOf(scene, subject);
  const config = scene.lab.lab.control.vm(vmid)?.config ?? {};
  const seenGb = (bootDiskOf(config)?.bytes ?? 0) / gib;
  const { body } = await subject.api.get(`/servers/${subject.server}`);
  const { rows } = await scene.owner.query<{ counted: number }>(
    `select (quantity ->> 'disk_gb')::integer as counted from usage_segment
      where resource_id = $1 and kind = 'disk' and ended_at is null`,
    [subject.server],
  );
  const found: string[] = [];
  if (seenGb <= body.package.disk_gb) found.push(`its disk has ${seenGb} GB and has not grown`);
  if (body.disk_gb !== seenGb) found.push(`its disk has ${seenGb} GB and is recorded with ${body.disk_gb}`);
  if (rows[0]?.counted !== seenGb)
    found.push(`its disk has ${seenGb} GB and ${rows[0]?.counted} are counted`);
  return found;
}
