import type { Answer } from "@kule/api/testing/api-caller";
import { namespaceOf } from "@kule/edge/names";
import { type Course, describeJob, type Work } from "../job-kinds/course.ts";
import { type JobScene, latestJob, newSubject, type Subject } from "../job-kinds/scene.ts";
import type { EdgeTestbed } from "./edge-testbed.ts";

/** The first one makes all of a network by one job. */
export const networkCourseNames = [
  "made anew by one job",
  "made",
  "given a subnet",
  "given a gateway",
  "put right",
  "without its gateway",
  "without its subnet",
  "given up",
] as const;

/** A job of a network: each is caused by one request, because agents wait for it and claim every job. */
export type NetworkCourse = Course & {
  readonly name: (typeof networkCourseNames)[number];
  readonly leaves: "present" | "gone";
};

/** How much of a network exists before. */
type Start = "nothing" | "a network" | "a subnet" | "a gateway";

/** Every way on which the steps of a network's job are to be met; together they pass all of them (A2 checks that). */
export function networkCourses(testbed: EdgeTestbed): readonly NetworkCourse[] {
  const course = (
    name: NetworkCourse["name"],
    start: Start,
    cause: NetworkCourse["cause"],
    more: { readonly leaves?: "gone"; readonly before?: ManualChange } = {},
  ): NetworkCourse => {
    const leaves = more.leaves ?? "present";
    return {
      name,
      kind: "NetworkApply",
      leaves,
      begin: async (scene, work) => {
        const subject = await networkFor(scene, start, work);
        await more.before?.(testbed, scene, subject);
        return subject;
      },
      cause,
      violations: (scene, subject) => endViolations(scene, subject, leaves, name),
    };
  };
  return [
    course("made anew by one job", "a gateway", addSubnet, { before: loseAll }),
    course("made", "nothing", makeNetwork),
    course("given a subnet", "a network", addSubnet),
    course("given a gateway", "a subnet", addGateway),
    course("put right", "a gateway", addSubnet, { before: changeManually }),
    course("without its gateway", "a gateway", async (_, { api }) => {
      const [gateway] = accepted(await api.get("/gateways")).items;
      accepted(await api.delete(`/gateways/${gateway.id}`));
    }),
    course("without its subnet", "a subnet", async (_, { api, network }) => {
      const [subnet] = accepted(await api.get(`/networks/${network}/subnets`)).items;
      accepted(await api.delete(`/networks/${network}/subnets/${subnet.id}`));
    }),
    course(
      "given up",
      "a network",
      async (_, { api, network }) => void accepted(await api.delete(`/networks/${network}`)),
      { leaves: "gone" },
    ),
  ];
}

export function networkCourse(testbed: EdgeTestbed, name: NetworkCourse["name"]): NetworkCourse {
  const found = networkCourses(testbed).find((course) => course.name === name);
  if (found === undefined) throw new Error(`no network is ${name}`);
  return found;
}

async function networkFor(scene: JobScene, start: Start, work: Work): Promise<Subject> {
  const subject = await newSubject(scene);
  const done = async (cause: NetworkCourse["cause"]) => {
    await cause(scene, subject);
    const job = await work(subject, "NetworkApply");
    if (job.status !== "succeeded") throw new Error(`no network to begin with: the job ${describeJob(job)}`);
  };
  if (start !== "nothing") await done(makeNetwork);
  if (start === "a subnet" || start === "a gateway") await done(addSubnet);
  if (start === "a gateway") await done(addGateway);
  return subject;
}

async function makeNetwork({ region }: JobScene, subject: Subject): Promise<void> {
  const { network } = accepted(await subject.api.post("/networks", { name: subject.name, region }));
  subject.network = network.id;
}

async function addSubnet(_: JobScene, { api, network }: Subject): Promise<void> {
  const { items } = accepted(await api.get(`/networks/${network}/subnets`));
  const name = `subnet-${items.length + 1}`;
  accepted(await api.post(`/networks/${network}/subnets`, { name, tier: "app" }));
}

/** Pools are unique in an installation, and each subject has one of its own. */
let pools = 0;

async function addGateway({ operator, region }: JobScene, subject: Subject): Promise<void> {
  const { api, network, organisation, name } = subject;
  pools += 1;
  const net = `100.${96 + Math.floor(pools / 256)}.${pools % 256}`;
  const pool = accepted(
    await operator.post("/ip-pools", {
      region,
      name: `gateways ${pools}`,
      gateway: `${net}.1`,
      prefix_length: 24,
    }),
  );
  accepted(await operator.post(`/ip-pools/${pool.id}/ranges`, { cidr: `${net}.0/28` }));
  accepted(
    await operator.post(`/ip-pools/${pool.id}/allocations`, { organisation_id: organisation, count: 1 }),
  );
  const { items } = accepted(await api.get(`/networks/${network}/subnets`));
  const subnet_ids = items.map(({ id }: { readonly id: string }) => id);
  accepted(await api.post("/gateways", { name, network_id: network, subnet_ids }));
}

type ManualChange = (testbed: EdgeTestbed, scene: JobScene, subject: Subject) => Promise<void>;

/** The edge was restarted: nothing of the network is left there. No scan must find that first. */
async function loseAll(testbed: EdgeTestbed, scene: JobScene, { network }: Subject): Promise<void> {
  await scene.owner.query(
    "update network set applied_at = clock_timestamp() + interval '1 day' where id = $1",
    [network],
  );
  await testbed.edge.remove(network);
}

/** A manual change: a bridge is taken down and a route added. */
async function changeManually(testbed: EdgeTestbed, scene: JobScene, { network }: Subject): Promise<void> {
  const { rows } = await scene.owner.query<{ vlan: number; router: string; next: string }>(
    `select v.vlan, host(s.gateway_ip) as router, host(s.gateway_ip + 1) as next
       from region_vlan v join subnet s on s.id = v.subnet_id where s.network_id = $1`,
    [network],
  );
  const [subnet] = rows;
  if (subnet === undefined) throw new Error(`${network} has no subnet`);
  await testbed.byHand(
    ...["ip", "-n", namespaceOf(network), "route", "add", "192.0.2.0/24"],
    ...["via", subnet.next, "dev", `s${subnet.vlan}`],
  );
  await testbed.byHand(
    "ip",
    "link",
    "set",
    "dev",
    `${testbed.wiring.trunk.interface}v${subnet.vlan}`,
    "down",
  );
}

/** What the control plane records of it; the edge's state is compared for all networks at once (I14). */
async function endViolations(
  scene: JobScene,
  subject: Subject,
  leaves: "present" | "gone",
  name: string,
): Promise<string[]> {
  const what = `a network that is ${name}, ${subject.network}`;
  const job = await latestJob(scene, subject, "NetworkApply");
  if (job === null) return [`${what}: there is no job`];
  if (job.status !== "succeeded") return [`${what}: the job ${describeJob(job)}`];
  const { rows } = await scene.owner.query<{ status: string; is_current: boolean; on_way: number }>(
    `select n.status, n.observed_generation = n.generation as is_current,
            (select count(*)::int from subnet s where s.network_id = n.id and s.status <> 'active') as on_way
       from network n where n.id = $1`,
    [subject.network],
  );
  const [row] = rows;
  if (leaves === "gone") return row === undefined ? [] : [`${what}: it is still there, ${row.status}`];
  if (row?.status === "active" && row.is_current && row.on_way === 0) return [];
  return [`${what}: the job has succeeded, and it is ${JSON.stringify(row ?? null)}`];
}

function accepted(answer: Answer): Answer["body"] {
  if (answer.status >= 300) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}
