import { ServerWorld } from "@kule/api/testing/server-world";
import { sweepRemovalBuffers } from "@kule/api/worker/expire-removal-buffer";
import { type EdgeSceneId, queueWithoutAgent, settleAtEdge } from "./edge-scene.ts";

/** The subjects of the attempts: two organisations, two regions, and servers in every state that matters. */
export type Scene = {
  readonly world: ServerWorld;
  readonly ids: Readonly<Record<SceneId, string>>;
};

export type SceneId =
  | EdgeSceneId
  | "org"
  | "other_org"
  | "subnet"
  | "other_org_subnet"
  | "far_subnet"
  | "running"
  | "creating"
  | "creating_job"
  | "marked"
  | "leaving"
  | "leaving_job"
  | "restoring"
  | "restoring_job"
  | "gone"
  | "forwarded_job"
  | "others_server"
  | "spare_nic";

export async function openScene(): Promise<Scene> {
  const world = await ServerWorld.open({ removalBufferSeconds: 3600 });
  try {
    return { world, ids: await build(world) };
  } catch (error) {
    await world.close();
    throw error;
  }
}

async function build(world: ServerWorld): Promise<Scene["ids"]> {
  const { agent, owned } = world;
  const other = await world.world.addOrganisation("globex");
  await world.world.addRegion("far1");
  const id = async (answer: Promise<{ server: { id: string } }>) => (await answer).server.id;
  const running = await id(world.create());
  const marked = await id(world.create());
  const leaving = await id(world.create());
  const restoring = await id(world.create());
  const gone = await id(world.create());
  const others = await id(world.create({}, other.owner));
  const far = await id(world.create({ region: "far1" }));
  await agent.work();
  const settled = await settleAtEdge(world, other.owner);
  const { forwarded } = settled;
  for (const server of [marked, leaving, restoring, gone, forwarded])
    await owned.delete(`/servers/${server}`);
  await agent.work();
  await destroy(world, gone);
  for (const server of [leaving, forwarded]) await world.passBuffer(server);
  await sweep(world);
  await owned.post(`/servers/${restoring}/cancel-deletion`);
  const creating = (await world.create()) as { server: { id: string }; job: { id: string } };
  const subnetOf = async (server: string) =>
    (await world.rows("select subnet_id from nic where server_id = $1", [server]))[0].subnet_id as string;
  const openJob = async (server: string) =>
    (await world.rows("select id from job where resource_id = $1 and status = 'queued'", [server]))[0]
      .id as string;
  const nicOf = async (server: string) =>
    (await world.rows("select id from nic where server_id = $1", [server]))[0].id as string;
  return {
    ...(await queueWithoutAgent(world, settled)),
    forwarded_job: await openJob(forwarded),
    org: world.organisation.id,
    other_org: other.id,
    subnet: await subnetOf(running),
    other_org_subnet: await subnetOf(others),
    far_subnet: await subnetOf(far),
    running,
    creating: creating.server.id,
    creating_job: creating.job.id,
    marked,
    leaving,
    leaving_job: await openJob(leaving),
    restoring,
    restoring_job: await openJob(restoring),
    gone,
    others_server: others,
    spare_nic: await nicOf(running),
  };
}

async function destroy(world: ServerWorld, server: string): Promise<void> {
  await world.passBuffer(server);
  await sweep(world);
  await world.agent.work();
}

async function sweep(world: ServerWorld): Promise<void> {
  await sweepRemovalBuffers(world.world.replica.deps);
}

/** The statements with the scene's ids in the places of `{names}`. */
export function inScene(sql: string, ids: Scene["ids"]): string {
  return sql.replace(/\{(\w+)\}/g, (_, name: string) => {
    const id = ids[name as SceneId];
    if (id === undefined) throw new Error(`the scene has no ${name}`);
    return `'${id}'`;
  });
}
