import type { ApiCaller } from "@kule/api/testing/api-caller";
import type { JobKind } from "@kule/contract/schemas";
import type { EdgeView } from "@kule/testing/world-check/edge-invariants";
import type { ObservedVm, RegionView } from "@kule/testing/world-check/region-invariants";
import { worldCheck } from "@kule/testing/world-check/world-check";
import type pg from "pg";

/** A world in which jobs are caused through the public API: in this process, or of processes. */
export type JobScene = {
  readonly region: string;
  readonly image: string;
  readonly operator: ApiCaller;
  /** As the owner of the tables: for reading, and for moving time. */
  readonly owner: pg.Pool;
  readonly ownerUrl: string;
  /** Ends the removal buffer of a server, and lets whatever follows begin. */
  endBuffer(subject: Subject): Promise<void>;
  /** What the region really has, and everything that ever happened there. */
  view(): Promise<RegionView>;
  /** Where the region has an edge. */
  readonly edge?: EdgeView;
  /** The VMs alone, which is quicker. */
  vms(): Promise<readonly ObservedVm[]>;
  /** Changes something in the lab without Kule. */
  changeOutsideKule(what: string, ...args: readonly unknown[]): Promise<void>;
  /** The volumes that carry a VM number, whether there is such a VM or not. */
  volumes(vmid: number): Promise<readonly string[]>;
};

/**
 * One server and its job, in an organisation of its own: only an organisation's first server creates its
 * pool.
 */
export type Subject = {
  readonly name: string;
  readonly organisation: string;
  readonly api: ApiCaller;
  /** Empty before the server has been requested. */
  server: string;
  /** The same of a network, of which jobs of networks are. */
  network: string;
  /** The same of a load balancer. */
  loadBalancer: string;
  /** The same of a certificate. */
  certificate: string;
};

/** The resource of a job of the kind. */
export function resourceOf({ server, network, loadBalancer, certificate }: Subject, kind: JobKind): string {
  if (kind === "LoadBalancerApply") return loadBalancer;
  if (kind === "CertificateRequest") return certificate;
  return kind === "NetworkApply" ? network : server;
}

export type JobEndRow = {
  readonly id: string;
  readonly status: string;
  readonly attempt: number;
  readonly max_attempts: number;
  readonly epoch: number;
  readonly error: { readonly code: string; readonly step: string | null } | null;
  readonly internal_error: string | null;
  readonly finished_at: Date | null;
};

let made = 0;

export async function newSubject(scene: JobScene): Promise<Subject> {
  made += 1;
  const name = `case-${made}`;
  const created = await scene.operator.post("/organisations", { slug: name, name });
  if (created.status !== 201) throw new Error(`${created.status} ${JSON.stringify(created.body)}`);
  const organisation = created.body.id as string;
  return {
    name,
    organisation,
    api: scene.operator.with({ "Kule-Organisation": organisation }),
    server: "",
    network: "",
    loadBalancer: "",
    certificate: "",
  };
}

export async function serverStatus(scene: JobScene, subject: Subject): Promise<string> {
  const { rows } = await scene.owner.query<{ status: string }>("select status from server where id = $1", [
    subject.server,
  ]);
  return rows[0]?.status ?? "unknown";
}

/** The VM number that a subject's server has, or had. */
export async function vmidOf(scene: JobScene, { server }: Subject): Promise<number> {
  const { rows } = await scene.owner.query<{ vmid: number }>(
    "select vmid from region_vmid where server_id = $1 and region = $2 order by state = 'used' desc limit 1",
    [server, scene.region],
  );
  const [row] = rows;
  if (row === undefined) throw new Error(`${server} has no VM number`);
  return row.vmid;
}

/** The subject's latest job of a kind; null when there is none. */
export async function latestJob(scene: JobScene, subject: Subject, kind: JobKind): Promise<JobEndRow | null> {
  const { rows } = await scene.owner.query<JobEndRow>(
    `select id, status, attempt, max_attempts, epoch, error, internal_error, finished_at from job
      where resource_id = $1 and kind = $2 order by created_at desc, id desc limit 1`,
    [resourceOf(subject, kind), kind],
  );
  return rows[0] ?? null;
}

/** The invariants that do not hold, as sentences. */
export async function brokenInvariants(scene: JobScene): Promise<string[]> {
  const edges = scene.edge === undefined ? [] : [scene.edge];
  const found = await worldCheck({ ownerUrl: scene.ownerUrl, regions: [await scene.view()], edges });
  return found.map(({ invariant, check, subject }) => `${invariant} ${check}: ${subject}`);
}
