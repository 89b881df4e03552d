import type { ClaimedJob } from "@kule/api/testing/test-agent";
import type { RemovalScene } from "./race-scene.ts";

/** The agent ends jobs that it has, one way or another; a job that was taken from it is no concern of these races. */
async function endSomehow(scene: RemovalScene, job: ClaimedJob, way: number): Promise<void> {
  const outcomes = [
    { status: "succeeded", observed: { power_state: "on" } },
    { status: "failed", error: { code: "template_missing", message: "It did not work", retryable: false } },
    { status: "cancelled", error: { code: "cancelled", message: "It was called off" } },
    { status: "retry", error: { code: "upstream", message: "Not now" } },
  ];
  const answer = await scene.world.agent.report(job, {
    phase: "verify",
    outcome: outcomes[way % outcomes.length],
  });
  scene.expect(`the end of ${job.kind} ${job.id}`, answer, /^(200|409 stale_lease)$/);
}

const pick = (scene: RemovalScene, below: number) => Math.floor(scene.random() * below);

/** A delete while the create runs, and the create's end at the same moment. */
export async function deleteWhileCreating(scene: RemovalScene, count: number): Promise<void> {
  const made = await scene.creating(count);
  const jobs: ClaimedJob[] = [];
  for (let taken = 0; taken < count; taken += 1) {
    const job = await scene.world.agent.claim();
    if (job !== null) jobs.push(job);
  }
  await Promise.all(
    made.flatMap(({ server }) => {
      const job = jobs.find((each) => each.payload.server.id === server);
      return [
        scene
          .caller()
          .delete(`/servers/${server}`)
          .then((answer) => scene.expect(`delete of ${server} while it is made`, answer, /^202$/)),
        ...(job === undefined ? [] : [endSomehow(scene, job, pick(scene, 4))]),
      ];
    }),
  );
  for (const { server } of made) {
    const { status } = await scene.see(server);
    scene.note(`deleted while created: ${status}`);
    if (status !== "pending_deletion")
      scene.violations.push(`${server} was deleted while it was made and is ${status}`);
  }
  const restored = made.filter(() => scene.random() < 0.5).map(({ server }) => server);
  for (const id of restored)
    scene.expect(`cancel of ${id}`, await scene.caller().post(`/servers/${id}/cancel-deletion`), /^202$/);
  await finish(
    scene,
    made.map(({ server }) => server),
  );
}

/** Several deletes at once: one is accepted. */
export async function deleteTwice(scene: RemovalScene, count: number): Promise<void> {
  const servers = await scene.running(count);
  await Promise.all(
    servers.map(async (id) => {
      const answers = await Promise.all([1, 2, 3].map(() => scene.caller().delete(`/servers/${id}`)));
      for (const answer of answers)
        scene.expect(`one of three deletes of ${id}`, answer, /^(202|409 resource_deleting)$/);
      const accepted = answers.filter(({ status }) => status === 202).length;
      if (accepted !== 1) scene.violations.push(`${accepted} of three deletes of ${id} were accepted`);
      scene.note("deleted three times at once");
    }),
  );
  await finish(scene, servers);
}

/** A change, a delete and a cancel concurrently: the answers show their order. */
export async function changeWhileDeleting(scene: RemovalScene, count: number): Promise<void> {
  const servers = await scene.running(count);
  await Promise.all(
    servers.map(async (id) => {
      const [changed, deleted, cancelled] = await Promise.all([
        scene.caller().patch(`/servers/${id}`, { labels: { race: "on" } }),
        scene.caller().delete(`/servers/${id}`),
        scene.caller().post(`/servers/${id}/cancel-deletion`),
      ]);
      scene.expect(`change of ${id}`, changed, /^(200|409 resource_deleting)$/);
      scene.expect(`delete of ${id}`, deleted, /^202$/);
      scene.expect(`cancel of ${id}`, cancelled, /^(202|409 invalid_state)$/);
      const { status } = await scene.see(id);
      const isMarked = status === "pending_deletion";
      scene.note(`changed, deleted and cancelled at once: ${status}`);
      if (isMarked === (cancelled.status === 202))
        scene.violations.push(`${id} is ${status} after a cancel that answered ${cancelled.status}`);
    }),
  );
  await finish(scene, servers);
}

/** The end of the buffer while an agent has the stop, and the stop's end at the same moment. */
export async function expiryWhileStopping(scene: RemovalScene, count: number): Promise<void> {
  const servers = await scene.running(count);
  await Promise.all(servers.map((id) => scene.caller().delete(`/servers/${id}`)));
  const jobs: ClaimedJob[] = [];
  for (let job = await scene.world.agent.claim(); job !== null; job = await scene.world.agent.claim())
    jobs.push(job);
  await Promise.all(servers.map((id) => scene.endBufferIn(id, 0)));
  await Promise.all([
    ...servers.map((id) => scene.expire(id)),
    ...jobs.map((job) => endSomehow(scene, job, pick(scene, 4))),
    scene.sweep(),
  ]);
  for (const id of servers) {
    const { status, destroys } = await scene.see(id);
    scene.note(`expired while stopped: ${status}`);
    if (status !== "deleting" || destroys.length !== 1)
      scene.violations.push(`${id} is ${status} with ${destroys.length} destroys after its buffer ended`);
  }
  await finish(scene, servers);
}

/** A retry of a create that failed, and a delete, at once. */
export async function deleteWhileRetried(scene: RemovalScene, count: number): Promise<void> {
  const made = await scene.creating(count);
  for (let taken = 0; taken < count; taken += 1) {
    const job = await scene.world.agent.claim();
    if (job !== null) await scene.world.agent.fail(job);
  }
  await Promise.all(
    made.map(async ({ server, job }) => {
      const [retried, deleted] = await Promise.all([
        scene.caller().post(`/jobs/${job}/retry`),
        scene.caller().delete(`/servers/${server}`),
      ]);
      scene.expect(`retry of ${job}`, retried, /^(202|409 invalid_state)$/);
      scene.expect(`delete of ${server}`, deleted, /^202$/);
      scene.note(`retried and deleted at once: retry answered ${retried.status}`);
    }),
  );
  await finish(
    scene,
    made.map(({ server }) => server),
  );
}

/** Every server reaches a final state. */
async function finish(scene: RemovalScene, servers: readonly string[]): Promise<void> {
  for (const [id, status] of await scene.settle(servers))
    if (!["running", "stopped", "error", "pending_deletion", "deleted"].includes(status))
      scene.violations.push(`${id} is stuck: ${status}`);
}
