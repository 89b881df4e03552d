import type { ServerWorld } from "@kule/api/testing/server-world";

/** Something that a task of the worker has to do, and when it is done. */
export type WorkerScene = {
  readonly task: string;
  /** Brings about what the task is for, due now, and answers whose row shows it. */
  prepare(): Promise<string>;
  /** Whether the task has done its work on that row. */
  isDone(id: string): Promise<boolean>;
};

/** The worker's tasks that change what customers see. The others only delete what has expired. */
export function workerScenes(world: ServerWorld): WorkerScene[] {
  const statusOf = async (table: "server" | "job", id: string) =>
    (await world.rows(`select status from ${table} where id = $1`, [id]))[0]?.status as string | undefined;
  return [
    {
      task: "expire_removal_buffer",
      async prepare() {
        const server = await world.createRunning();
        await world.owned.delete(`/servers/${server.id}`);
        await world.agent.work();
        await world.passBuffer(server.id);
        await world.owner.query("update graphile_worker._private_jobs set run_at = now() where key = $1", [
          `purge:${server.id}`,
        ]);
        return server.id;
      },
      isDone: async (id) => (await statusOf("server", id)) === "deleting",
    },
    {
      task: "reap_leases",
      async prepare() {
        const { job } = await world.create();
        await world.agent.take("ServerCreate");
        await world.passLease(job.id);
        await world.owner.query("select graphile_worker.add_job('reap_leases')");
        return job.id;
      },
      isDone: async (id) => (await statusOf("job", id)) === "queued",
    },
  ];
}
