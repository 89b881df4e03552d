import { findFreePort } from "@kule/postgres/free-port";
import { type Installation, ownerClient } from "./installation.ts";
import { closedLoop, HttpClients, oneByOne } from "./load.ts";
import { insertServers } from "./many-servers.ts";
import { registerOrganisation } from "./organisations.ts";
import { median } from "./statistics.ts";
import type { Row } from "./table.ts";

const CLIENTS = 16;

/**
 * GET of one server and one job, compared with bare node:http and pg with one indexed select of the same
 * JSON.
 */
export async function readRows(installation: Installation, seconds: number): Promise<Row[]> {
  const owner = await ownerClient(installation);
  const operator = new HttpClients(installation.api.urls, 1, {
    authorization: `Bearer ${installation.operatorToken}`,
  });
  const clientsFor = (headers: Record<string, string>) =>
    new HttpClients(installation.api.urls, CLIENTS, headers);
  const organisation = await registerOrganisation(
    operator,
    clientsFor,
    installation.operatorToken,
    "reads",
    "lab1",
  );
  // More jobs than requests in five seconds: no job is polled faster than the limit allows.
  const count = 40_000;
  const ids = await insertServers(owner, organisation, count, "aa");
  const clients = clientsFor({ authorization: `Bearer ${organisation.token}` });

  const rows: Row[] = [];
  for (const [what, pathOf] of [
    ["GET /servers/{id}", (index: number) => `/servers/${ids(index).server}`],
    ["GET /jobs/{id}", (index: number) => `/jobs/${ids(index).job}`],
  ] as const) {
    const example = await clients.send("GET", pathOf(0));
    if (example.status !== 200) throw new Error(`${pathOf(0)} answered ${example.status}: ${example.body}`);
    const floor = await startFloor(installation, example.body, count);
    const cycle = (target: HttpClients, path: (index: number) => string) => {
      let next = 0;
      return async () => {
        next = (next + 1) % count;
        const { status, body } = await target.send("GET", path(next));
        if (status !== 200) throw new Error(`${path(next)} answered ${status}: ${body}`);
      };
    };
    const actOurs = cycle(clients, pathOf);
    const actFloor = cycle(floor, (index) => `/${index}`);
    await closedLoop(CLIENTS, 1, actFloor);
    await closedLoop(CLIENTS, 1, actOurs);
    // Alternating, so that other load on this machine affects both alike.
    const ours: number[] = [];
    const bare: number[] = [];
    for (let round = 0; round < 3; round += 1) {
      bare.push((await closedLoop(CLIENTS, seconds / 3, actFloor)).perSecond);
      ours.push((await closedLoop(CLIENTS, seconds / 3, actOurs)).perSecond);
    }
    const ratio = median(ours) / median(bare);
    rows.push({
      what: `${what}, ${CLIENTS} clients`,
      ours: `${Math.round(median(ours))}/s`,
      floor: `${Math.round(median(bare))}/s bare node:http + pg`,
      ratio: ratio.toFixed(2),
      aim: "≥ 0.70",
      reached: ratio >= 0.7,
    });
    floor.close();
  }
  clients.close();
  operator.close();
  await owner.end();
  return rows;
}

async function startFloor(installation: Installation, body: string, count: number): Promise<HttpClients> {
  const owner = await ownerClient(installation);
  await owner.query("drop table if exists bench_floor");
  await owner.query("create table bench_floor (id text primary key, body text not null)");
  await owner.query("insert into bench_floor select i::text, $1 from generate_series(0, $2::integer - 1) i", [
    body,
    count,
  ]);
  await owner.query("vacuum analyze bench_floor");
  await owner.end();
  const port = await findFreePort();
  await installation.run(
    ["tools/bench/src/floor-server.ts"],
    { FLOOR_DATABASE_URL: installation.ownerUrl, FLOOR_PORT: String(port) },
    "ready",
  );
  return new HttpClients(`http://127.0.0.1:${port}`, CLIENTS);
}

/** The first page of a long list must cost what the first page of a short one costs. */
export async function listRows(installation: Installation, sizes: readonly number[]): Promise<Row[]> {
  const owner = await ownerClient(installation);
  const operator = new HttpClients(installation.api.urls, 1, {
    authorization: `Bearer ${installation.operatorToken}`,
  });
  const clientsFor = (headers: Record<string, string>) => new HttpClients(installation.api.urls, 1, headers);
  const p50s: { size: number; p50: number }[] = [];
  const targets: { size: number; clients: HttpClients }[] = [];
  for (const [index, size] of sizes.entries()) {
    const organisation = await registerOrganisation(
      operator,
      clientsFor,
      installation.operatorToken,
      `list-${size}`,
      "lab1",
    );
    await insertServers(owner, organisation, size, `b${index}`);
    targets.push({ size, clients: clientsFor({ authorization: `Bearer ${organisation.token}` }) });
  }
  const samples = new Map<number, number[]>(sizes.map((size) => [size, []]));
  for (let round = 0; round < 60; round += 1)
    for (const { size, clients } of targets) {
      const [took] = await oneByOne(1, async () => {
        const { status } = await clients.send("GET", "/servers?limit=50");
        if (status !== 200) throw new Error(`the list answered ${status}`);
      });
      if (round >= 10 && took !== undefined) samples.get(size)?.push(took);
    }
  for (const { size, clients } of targets) {
    p50s.push({ size, p50: median(samples.get(size) ?? []) });
    clients.close();
  }
  operator.close();
  await owner.end();
  const base = p50s[0]?.p50 ?? Number.NaN;
  return p50s.slice(1).map(({ size, p50 }) => ({
    what: `GET /servers?limit=50 of ${size.toLocaleString("en")}`,
    ours: `p50 ${p50.toFixed(2)} ms`,
    floor: `p50 ${base.toFixed(2)} ms of ${sizes[0]}`,
    ratio: (p50 / base).toFixed(2),
    aim: "≤ 1.30",
    reached: p50 / base <= 1.3,
  }));
}
