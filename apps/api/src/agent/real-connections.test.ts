import { EventEmitter, once } from "node:events";
import { type AddressInfo, connect, type Socket } from "node:net";
import { serve } from "@hono/node-server";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ServerWorld } from "../testing/server-world.ts";

let world: ServerWorld;
let server: ReturnType<typeof serve>;
let port: number;
const arrivals = new EventEmitter();
beforeAll(async () => {
  world = await ServerWorld.open();
  server = serve({
    fetch: (request, env) => {
      arrivals.emit("request");
      return world.world.app.fetch(request, env);
    },
    port: 0,
    hostname: "127.0.0.1",
  });
  if (!server.listening) await once(server, "listening");
  port = (server.address() as AddressInfo).port;
});
afterAll(async () => {
  server.close();
  await world.close();
});

describe("over a real connection", () => {
  /** A claim whose connection can be closed at will, once the API has it. */
  async function claimOverSocket(claimId: string): Promise<Socket> {
    const body = JSON.stringify({
      claim_id: claimId,
      agent_version: "0.1.0",
      capabilities: ["ServerCreate"],
      wait_seconds: 20,
    });
    const socket = connect(port, "127.0.0.1");
    const arrived = once(arrivals, "request");
    socket.write(
      `POST /api/v1/agent/jobs/claim HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${world.agent.api.token}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await arrived;
    return socket;
  }

  test("a claim whose agent disconnects during the search for a job takes none", async () => {
    const { job } = await world.create();
    const blocker = await world.owner.connect();
    await blocker.query("begin; lock table job in exclusive mode");
    const socket = await claimOverSocket("claim-of-the-leaving");
    await expect
      .poll(() =>
        world.rows(
          "select relation::regclass::text from pg_locks where not granted and relation = 'job'::regclass and database = (select oid from pg_database where datname = current_database())",
        ),
      )
      .toEqual([{ relation: "job" }]);
    socket.destroy();
    await once(socket, "close");
    await world.owner.query("select pg_sleep(0.1)");
    await blocker.query("commit");
    blocker.release();
    // Enough time for the claim to be assigned the job, if it were.
    await world.owner.query("select pg_sleep(0.3)");
    const claimed = await world.agent.take("ServerCreate");
    expect(claimed).toMatchObject({ id: job.id, epoch: 1, attempt: 1 });
    await world.agent.succeed(claimed);
  });

  test("a parked claim whose agent has disconnected takes no job", async () => {
    const socket = await claimOverSocket("claim-of-the-lost");
    // Enough time to find nothing and wait.
    await world.owner.query("select pg_sleep(0.5)");
    socket.destroy();
    await once(socket, "close");
    await world.owner.query("select pg_sleep(0.1)");
    const { job } = await world.create();
    // A waiting claim checks again every two seconds; it must have ended, and not only be waiting.
    await world.owner.query("select pg_sleep(2.5)");
    expect((await world.job(job.id)).status).toBe("queued");
    await world.agent.work();
  });

  test("a job's events arrive while it runs, each when it happens", async () => {
    const { job } = await world.create();
    const response = await fetch(`http://127.0.0.1:${port}/api/v1/jobs/${job.id}/events`, {
      headers: { Authorization: `Bearer ${world.owned.token}` },
    });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    const until = async (needle: string): Promise<string> => {
      let text = "";
      while (!text.includes(needle)) {
        const chunk = await reader?.read();
        if (chunk === undefined || chunk.done) throw new Error(`the stream ended before ${needle}: ${text}`);
        text += chunk.value;
      }
      return text;
    };
    await until('"status":"queued"');
    const claimed = await world.agent.take("ServerCreate");
    await until('"status":"running"');
    await world.agent.report(claimed, { phase: "apply", progress: 55 });
    await until('"progress":55');
    await world.agent.succeed(claimed);
    await until('"done":true');
    expect((await reader?.read())?.done).toBe(true);
  });
});
