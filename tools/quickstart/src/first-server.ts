import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { type ApiClient, asProblem } from "@kule/contract/client";
import type { Schemas } from "@kule/contract/schemas";
import { readJsonFile, writePrivateFile } from "./private-file.ts";

type Job = Schemas["Job"];

interface FirstServerNote {
  /**
   * Chosen before the first attempt: after a start that was killed, the next one requests the same server
   * again.
   */
  idempotencyKey: string;
  /** Absent in notes of before there was a choice. */
  image?: string;
  jobId?: string;
  serverId?: string;
}

export interface FirstServer {
  name: string;
  /** The result, as a sentence. */
  outcome: string;
  /** Only in the start that created it. */
  consolePassword?: string;
}

const firstServer = { name: "first-tower", package: "s" } as const;

/** A call that the API refused, with its text. */
export class Refused extends Error {
  override name = "Refused";
}

/**
 * Creates the first server through the public API and follows its job to the end, once per installation:
 * after a start that was killed in between, the next one continues with the same server, and one that was
 * later removed is not created again.
 */
export async function createFirstServer(
  client: ApiClient,
  home: string,
  onProgress: (job: Job) => void,
  onResume: () => void,
  image = "ubuntu-24.04",
): Promise<FirstServer> {
  const file = join(home, "first-server.json");
  let note = readJsonFile<FirstServerNote>(file);
  if (note === undefined) {
    note = { idempotencyKey: randomUUID(), image };
    writePrivateFile(file, JSON.stringify(note));
  }
  let consolePassword: string | undefined;
  const resumes = note.jobId !== undefined;
  if (note.jobId === undefined) {
    const asked = await askForServer(client, note.idempotencyKey, note.image ?? "ubuntu-24.04");
    note = { ...note, serverId: asked.serverId, jobId: asked.jobId };
    writePrivateFile(file, JSON.stringify(note));
    consolePassword = asked.consolePassword;
  }
  let shown = false;
  const job = await followJob(client, note.jobId ?? "", (state) => {
    if (!shown && resumes && state.status === "running") onResume();
    shown = true;
    onProgress(state);
  });
  return {
    name: firstServer.name,
    outcome: await describeOutcome(client, note.serverId ?? "", job),
    ...(consolePassword !== undefined && { consolePassword }),
  };
}

async function describeOutcome(client: ApiClient, serverId: string, job: Job | undefined): Promise<string> {
  const { name } = firstServer;
  const { data: server } = await client.GET("/servers/{server_id}", {
    params: { path: { server_id: serverId } },
  });
  if (server === undefined) return `The first server, ${name}, is gone.`;
  if (server.status === "running") return `${name} runs.`;
  if (job !== undefined && job.status !== "succeeded") {
    return `${name}: its job ended ${job.status}${job.error === null ? "" : ` (${job.error.message})`}.`;
  }
  return `${name} is ${server.status}.`;
}

async function askForServer(client: ApiClient, idempotencyKey: string, image: string) {
  const { data, error } = await client.POST("/servers", {
    params: { header: { "Idempotency-Key": idempotencyKey } },
    body: { ...firstServer, image },
  });
  if (data !== undefined && "job" in data) {
    return {
      serverId: data.server.id,
      jobId: data.job.id,
      consolePassword: data.console_password ?? undefined,
    };
  }
  // The key is stored for a day; after that the name shows that the server exists.
  if (asProblem(error)?.code === "name_taken") {
    const found = await client.GET("/servers", { params: { query: { name: firstServer.name } } });
    const server = found.data?.items[0];
    if (server?.job_id != null)
      return { serverId: server.id, jobId: server.job_id, consolePassword: undefined };
  }
  throw new Refused(`the API refused the first server: ${asProblem(error)?.detail ?? JSON.stringify(error)}`);
}

/** Waits until the job is over, as any client would: by `wait`, which answers when something changed. */
async function followJob(
  client: ApiClient,
  jobId: string,
  onProgress: (job: Job) => void,
): Promise<Job | undefined> {
  for (;;) {
    const { data, error, response } = await client.GET("/jobs/{job_id}", {
      params: { path: { job_id: jobId }, query: { wait: 20 } },
    });
    if (response.status === 404) return undefined;
    if (data === undefined) throw new Refused(`the API does not tell the job: ${asProblem(error)?.detail}`);
    onProgress(data);
    if (data.done) return data;
  }
}
