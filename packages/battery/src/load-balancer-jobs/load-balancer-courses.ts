import type { Answer } from "@kule/api/testing/api-caller";
import type { StepEvent } from "@kule/programs/program";
import { type Course, describeJob, type Work } from "../job-kinds/course.ts";
import type { LocalScene } from "../job-kinds/local-scene.ts";
import { type JobScene, latestJob, newSubject, type Subject, vmidOf } from "../job-kinds/scene.ts";

/** A job of a load balancer. Together the courses pass all steps of its program (A2 checks that). */
export type LoadBalancerCourse = {
  readonly name: string;
  /** Prepares everything up to a job that waits for an agent. */
  begin(scene: LocalScene): Promise<Subject>;
  /** What happens in the region while the job runs. */
  onEvent?(scene: LocalScene, subject: Subject): Promise<(event: StepEvent) => void>;
};

const KIND = "LoadBalancerApply";

/** A change of one that serves, in this process or with agents that are killed. */
export const givenListener: Course = {
  kind: KIND,
  begin: (scene, work) => made(scene, {}, work),
  async cause(_, { api, loadBalancer }) {
    const listener = { protocol: "tcp", port: 8443, target_port: 8443 };
    accepted(await api.post(`/load-balancers/${loadBalancer}/listeners`, listener));
  },
  violations: endViolations,
};

export const loadBalancerCourses: readonly LoadBalancerCourse[] = [
  {
    name: "made on a machine that still starts",
    async begin(scene) {
      const subject = await requested(scene, {});
      await workServers(scene, subject, workOf(scene));
      scene.lab.lab.faults.tasks.agentless.add(await vmidOf(scene, subject));
      return subject;
    },
    async onEvent(scene, subject) {
      const vmid = await vmidOf(scene, subject);
      return ({ name }) => {
        if (name === "await-guest") scene.lab.lab.faults.tasks.agentless.delete(vmid);
      };
    },
  },
  {
    name: "given a listener",
    async begin(scene) {
      const subject = await givenListener.begin(scene, workOf(scene));
      await givenListener.cause(scene, subject);
      return subject;
    },
  },
  {
    name: "changed on two machines",
    async begin(scene) {
      const subject = await made(scene, { ha: true }, workOf(scene));
      const change = { algorithm: "least_connections" };
      accepted(await subject.api.patch(`/load-balancers/${subject.loadBalancer}`, change));
      return subject;
    },
  },
];

/** What is wrong after the job has succeeded, its guests included. */
export async function loadBalancerViolations(scene: LocalScene, subject: Subject): Promise<string[]> {
  const found = await endViolations(scene, subject);
  for (const { slot, wanted, has } of await statesOf(scene, subject))
    if (has !== wanted)
      found.push(
        `the load balancer ${subject.loadBalancer}: machine ${slot} has generation ${has}, not ${wanted}`,
      );
  return found;
}

async function endViolations(scene: JobScene, subject: Subject): Promise<string[]> {
  const what = `the load balancer ${subject.loadBalancer}`;
  const job = await latestJob(scene, subject, KIND);
  if (job === null) return [`${what}: there is no job`];
  if (job.status !== "succeeded") return [`${what}: the job ${describeJob(job)}`];
  const { body } = await subject.api.get(`/load-balancers/${subject.loadBalancer}`);
  const isCurrent = body.observed_generation === body.generation;
  return body.status === "active" && isCurrent
    ? []
    : [`${what} is ${body.status} with generation ${body.observed_generation} of ${body.generation}`];
}

/** The generation that each machine has in its guest, and that it is to have. */
export async function statesOf(
  scene: LocalScene,
  { loadBalancer }: Subject,
): Promise<{ readonly slot: number; readonly wanted: number; readonly has: number | null }[]> {
  const { rows } = await scene.owner.query<{ slot: number; vmid: number; generation: number }>(
    `select m.slot, v.vmid, l.generation
       from load_balancer l join load_balancer_machine m on m.load_balancer_id = l.id
       join region_vmid v on v.server_id = m.server_id and v.state = 'used'
      where l.id = $1 order by m.slot`,
    [loadBalancer],
  );
  return rows.map(({ slot, vmid, generation }) => {
    const appliance = scene.lab.lab.control.vm(vmid)?.guest.appliance;
    const isWhole = appliance !== undefined && appliance.current === appliance.applied;
    return { slot, wanted: generation, has: isWhole ? Number(appliance.current?.split("-")[0]) : null };
  });
}

async function requested(scene: JobScene, more: object): Promise<Subject> {
  const subject = await newSubject(scene);
  const { api, name } = subject;
  const { network } = accepted(await api.post("/networks", { name, region: scene.region }));
  subject.network = network.id;
  const { subnet } = accepted(
    await api.post(`/networks/${network.id}/subnets`, { name: "app", tier: "app" }),
  );
  const body = {
    name,
    subnet_id: subnet.id,
    listeners: [{ protocol: "http", port: 80, target_port: 8080 }],
    targets: [{ label_selector: "role=web" }],
    ...more,
  };
  const { load_balancer } = accepted(await api.post("/load-balancers", body));
  subject.loadBalancer = load_balancer.id;
  return subject;
}

async function made(scene: JobScene, more: object, work: Work): Promise<Subject> {
  const subject = await requested(scene, more);
  await workServers(scene, subject, work);
  const job = await work(subject, KIND);
  if (job.status !== "succeeded")
    throw new Error(`no load balancer to begin with: the job ${describeJob(job)}`);
  return subject;
}

const workOf =
  (scene: LocalScene): Work =>
  (subject, kind) =>
    scene.work(subject, kind);

/** Makes its servers; the subject's is the first one. */
async function workServers(scene: JobScene, subject: Subject, work: Work): Promise<void> {
  const { rows } = await scene.owner.query<{ server_id: string }>(
    "select server_id from load_balancer_machine where load_balancer_id = $1 order by slot desc",
    [subject.loadBalancer],
  );
  for (const { server_id } of rows) {
    subject.server = server_id;
    const job = await work(subject, "ServerCreate");
    if (job.status !== "succeeded")
      throw new Error(`no server of a load balancer: the job ${describeJob(job)}`);
  }
}

function accepted({ status, body }: Answer): Answer["body"] {
  if (status >= 300) throw new Error(`${status} ${JSON.stringify(body)}`);
  return body;
}
