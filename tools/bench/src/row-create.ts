import { createApp } from "@kule/api/app";
import { createLog } from "@kule/api/platform/log";
import { openDeps } from "@kule/api/platform/open-deps";
import { readSettings } from "@kule/api/platform/settings";
import pg from "pg";
import type { Installation } from "./installation.ts";
import { closedLoop, HttpClients } from "./load.ts";
import { made, registerOrganisation, registerRegion } from "./organisations.ts";
import { Replay, recordStatements } from "./recorded-statements.ts";
import { median } from "./statistics.ts";
import type { Row } from "./table.ts";

const CLIENTS = 16;

/** POST /servers, compared with its own SQL statements sent by pg without our code. */
export async function createRow(installation: Installation, seconds: number): Promise<Row> {
  const operator = new HttpClients(installation.api.urls, 1, {
    authorization: `Bearer ${installation.operatorToken}`,
  });
  const clientsFor = (headers: Record<string, string>) =>
    new HttpClients(installation.api.urls, CLIENTS, headers);
  await registerRegion(operator, "create1", 100_000);
  const organisation = await registerOrganisation(
    operator,
    clientsFor,
    installation.operatorToken,
    "create",
    "create1",
  );
  const clients = clientsFor({ authorization: `Bearer ${organisation.token}` });
  const body = (name: string) => ({
    name,
    region: "create1",
    image: "ubuntu-24.04",
    package: "s",
    subnet_id: organisation.subnetId,
  });
  const key = await made<{ id: string }>(clients, "/ssh-keys", {
    name: "bench",
    public_key: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIL0ZsLgMwGCJyWY8Yb8vvgMI5gbkOOxuyPUUfcgWAGNd",
  });

  const replay = await recordCreate(installation, organisation.token, {
    ...body("bench-recorded"),
    ssh_key_ids: [key.id],
  });
  const floorClients = await Promise.all(
    Array.from({ length: CLIENTS }, async () => {
      const client = new pg.Client({ connectionString: installation.apiDatabaseUrl });
      client.on("error", () => {});
      await client.connect();
      return client;
    }),
  );
  let serial = 0;
  const actOurs = async () => {
    serial += 1;
    await made(clients, "/servers", { ...body(`ours-${serial}`), ssh_key_ids: [key.id] });
  };
  const actFloor = async (client: number) => replay.send(floorClients[client] as pg.Client);
  await closedLoop(CLIENTS, 1, actFloor);
  await closedLoop(CLIENTS, 1, actOurs);
  const ours: number[] = [];
  const bare: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    bare.push((await closedLoop(CLIENTS, seconds / 3, actFloor)).perSecond);
    ours.push((await closedLoop(CLIENTS, seconds / 3, actOurs)).perSecond);
  }
  for (const client of floorClients) await client.end();
  clients.close();
  operator.close();
  const ratio = median(ours) / median(bare);
  return {
    what: `POST /servers, ${CLIENTS} clients`,
    ours: `${Math.round(median(ours))}/s`,
    floor: `${Math.round(median(bare))}/s its own SQL by pg`,
    ratio: ratio.toFixed(2),
    aim: "≥ 0.60",
    reached: ratio >= 0.6,
  };
}

/** The SQL of one create, taken from the API itself running in this process. */
async function recordCreate(installation: Installation, token: string, body: object): Promise<Replay> {
  const open = await openDeps(
    readSettings({ ...installation.environment, KULE_LOG_LEVEL: "silent" }),
    createLog("silent"),
  );
  const app = createApp(open.deps);
  const send = (path: string, init: RequestInit = {}) =>
    app.request(`/api/v1${path}`, {
      ...init,
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    });
  try {
    // The token is in the cache from here on, as it is under load.
    await send("/me");
    const statements = await recordStatements(async () => {
      const answer = await send("/servers", { method: "POST", body: JSON.stringify(body) });
      if (answer.status !== 202)
        throw new Error(`the recorded create answered ${answer.status}: ${await answer.text()}`);
    });
    return new Replay(statements, "bench-recorded");
  } finally {
    await open.close();
  }
}
