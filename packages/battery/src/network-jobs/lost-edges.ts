import { applyUnseenNetworks } from "@kule/api/products/networks/index";
import type { LocalScene } from "../job-kinds/local-scene.ts";
import { brokenInvariants, latestJob, type Subject } from "../job-kinds/scene.ts";
import { shuffled } from "../races/shuffled.ts";
import type { RowResult, RowRun } from "../row.ts";
import type { EdgeTestbed } from "./edge-testbed.ts";
import { useLocalEdge } from "./local-edge.ts";
import { type NetworkCourse, networkCourses } from "./network-courses.ts";

const ROUNDS = { sample: 1, full: 6 } as const;

type Loss = { readonly name: string; run(place: Place): Promise<string[]> };
type Place = {
  readonly scene: LocalScene;
  readonly testbed: EdgeTestbed;
  course(name: string): NetworkCourse;
  /** The agent's report about the edge; null: its region file has none. */
  report(edge: { readonly reachable: boolean; readonly networks?: readonly string[] } | null): Promise<void>;
};

/**
 * An edge that has lost its state, and a region file that has lost its edge: every job ends, what could not
 * be applied is applied when there is an edge again, and no job is queued for a network that is as it should
 * be.
 */
export function lossesAtNetworks(run: RowRun, testbed: EdgeTestbed): Promise<RowResult> {
  return useLocalEdge(testbed, async (scene) => {
    const courses = networkCourses(testbed);
    const place: Place = {
      scene,
      testbed,
      course(name) {
        const found = courses.find((course) => course.name === name);
        if (found === undefined) throw new Error(`no network is ${name}`);
        return found;
      },
      async report(edge) {
        const hypervisor = { kind: "proxmox", reachable: true };
        const body = { agent_version: "0.0.0", hypervisor, edge };
        const answer = await scene.agentApi.post("/agent/health", body);
        if (answer.status !== 200) throw new Error(`health was answered ${answer.status}`);
      },
    };
    const violations: string[] = [];
    let cases = 0;
    for (let round = 0; round < ROUNDS[run.scale] && violations.length === 0; round += 1)
      for (const { name, run: lose } of shuffled(LOSSES, run.random)) {
        const found = [...(await lose(place)), ...(await brokenInvariants(scene))];
        violations.push(...found.map((text) => `${name}: ${text}`));
        cases += 1;
      }
    return { cases, violations: [...new Set(violations)], figures: { "losses of an edge": cases } };
  });
}

const LOSSES: readonly Loss[] = [
  {
    name: "an edge that has lost a network",
    async run({ scene, testbed, course, report }) {
      const given = course("given a subnet");
      const [lost, kept] = [await begun(scene, given), await begun(scene, given)];
      await scene.owner.query(
        "update network set applied_at = applied_at - interval '1 minute' where on_edge",
      );
      await testbed.edge.remove(lost.network);
      await report({ reachable: false });
      const found = (await waiting(scene)).map(() => "one that does not answer was told of a network");
      await report({ reachable: true, networks: await testbed.edge.networks() });
      const told = await waiting(scene);
      if (!told.includes(lost.network)) found.push("it was not told of it again");
      if (told.includes(kept.network)) found.push("it was told of one that it had");
      await scene.work(lost, "NetworkApply");
      // As in a report that was sent while the job ended.
      const others = (await testbed.edge.networks()).filter((id) => id !== lost.network);
      await report({ reachable: true, networks: others });
      if ((await waiting(scene)).includes(lost.network))
        found.push("it was told once more for a report from before it was told");
      return found;
    },
  },
  {
    name: "a network that somebody has changed at the edge",
    async run({ scene, course }) {
      const subject = await begun(scene, course("put right"));
      const { db } = scene.api.replica.deps;
      const found =
        (await applyUnseenNetworks(db, 3600)) === 0 ? [] : ["one that was just told was looked at"];
      await scene.owner.query(
        "update network set applied_at = applied_at - interval '2 hours' where id = $1",
        [subject.network],
      );
      await applyUnseenNetworks(db, 3600);
      if (!(await waiting(scene)).includes(subject.network)) found.push("nobody looked at it again");
      await scene.work(subject, "NetworkApply");
      return found;
    },
  },
  {
    name: "a region file that has lost its edge",
    async run({ scene, testbed, course, report }) {
      const given = course("given a subnet");
      const subject = await begun(scene, given);
      await given.cause(scene, subject);
      await report(null);
      const found: string[] = [];
      const before = await latestJob(scene, subject, "NetworkApply");
      if (before?.status !== "queued") found.push("a job was ended that an agent might still have taken");
      await scene.owner.query(
        "update job set run_at = run_at - interval '61 seconds' where status = 'queued'",
      );
      await report(null);
      const ended = await latestJob(scene, subject, "NetworkApply");
      if (ended?.status !== "cancelled" || ended.error?.code !== "edge_missing")
        found.push(`the job that nobody takes is ${ended?.status} for ${ended?.error?.code}`);
      const { body } = await subject.api.get(`/networks/${subject.network}`);
      if (ended?.status === "cancelled" && body.status_reason?.job_id !== ended.id)
        found.push(`the network is ${body.status} for ${JSON.stringify(body.status_reason)}`);
      await report({ reachable: true, networks: await testbed.edge.networks() });
      const again = await scene.work(subject, "NetworkApply");
      if (again.id === ended?.id && ended.status === "cancelled")
        found.push("it was not told of again when the edge was back");
      else found.push(...(await given.violations(scene, subject)));
      return found;
    },
  },
  {
    name: "a region file that is given an edge",
    async run({ scene, testbed, course, report }) {
      const made = course("made");
      await report(null);
      const subject = await made.begin(scene, (one, kind) => scene.work(one, kind));
      await made.cause(scene, subject);
      const early = await latestJob(scene, subject, "NetworkApply");
      await report({ reachable: true, networks: await testbed.edge.networks() });
      if (!(await waiting(scene)).includes(subject.network)) return ["it was not told of what there was"];
      await scene.work(subject, "NetworkApply");
      const found = early === null ? [] : ["a job waited for an edge that there was not"];
      return [...found, ...(await made.violations(scene, subject))];
    },
  },
];

const begun = (scene: LocalScene, course: NetworkCourse): Promise<Subject> =>
  course.begin(scene, (subject, kind) => scene.work(subject, kind));

/** The networks with a job that waits. */
async function waiting(scene: LocalScene): Promise<readonly string[]> {
  const { rows } = await scene.owner.query<{ id: string }>(
    "select resource_id as id from job where kind = 'NetworkApply' and status = 'queued'",
  );
  return rows.map(({ id }) => id);
}
