import { insertLargeInstallation } from "@kule/testing/large-installation";
import { listRequests } from "@kule/testing/list-requests";
import { type Installation, ownerClient } from "./installation.ts";
import { HttpClients } from "./load.ts";
import { registerOrganisation, registerRegion } from "./organisations.ts";
import { percentile } from "./statistics.ts";
import type { Row } from "./table.ts";

const AIM_MS = 20;
/** Not measured: plans, caches, connections. */
const WARM_UP_ROUNDS = 3;
/** Of every request. One that never took half of the aim in them needs no more. */
const FIRST_ROUNDS = 5;
const MORE_ROUNDS = 15;

/**
 * Every list, each with each of its filters, and every other GET, of an installation with this many servers: the slowest
 * by its p95. `say` is told how far it is: 100,000 servers took six minutes on two cores. What it inserts breaks
 * invariants, so no row that allocates something comes after it.
 */
export async function everyListRow(
  installation: Installation,
  servers: number,
  say: (text: string) => void,
): Promise<Row> {
  const operator = new HttpClients(installation.api.urls, 1, {
    authorization: `Bearer ${installation.operatorToken}`,
  });
  const clientsFor = (headers: Record<string, string>) => new HttpClients(installation.api.urls, 1, headers);
  await registerRegion(operator, "large");
  const organisation = await registerOrganisation(
    operator,
    clientsFor,
    installation.operatorToken,
    "large",
    "large",
  );
  const owner = await ownerClient(installation);
  const { rows } = await owner.query("select network_id from subnet where id = $1", [organisation.subnetId]);
  const largest = { ...organisation, networkId: rows[0].network_id };
  say(`inserting ${servers.toLocaleString("en")} servers and their history`);
  await insertLargeInstallation(owner, largest, servers);
  await owner.end();

  const owned = clientsFor({ authorization: `Bearer ${organisation.token}` });
  // One job may be read every five seconds; the row of reads has it.
  const requests = listRequests(largest).filter(({ operation }) => operation !== "getJob");
  const samples = new Map<string, number[]>(requests.map(({ path }) => [path, []]));
  const send = async ({ path, by }: (typeof requests)[number]) => {
    const begin = performance.now();
    const { status, body } = await (by === "operator" ? operator : owned).send("GET", path);
    if (status !== 200) throw new Error(`GET ${path} answered ${status}: ${body.slice(0, 300)}`);
    return performance.now() - begin;
  };
  const measure = async (some: typeof requests, rounds: number) => {
    for (let round = 0; round < rounds; round += 1)
      for (const request of some) samples.get(request.path)?.push(await send(request));
  };
  say(`${requests.length} requests, ${WARM_UP_ROUNDS + FIRST_ROUNDS} times each`);
  for (let round = 0; round < WARM_UP_ROUNDS; round += 1) for (const request of requests) await send(request);
  await measure(requests, FIRST_ROUNDS);
  const slow = requests.filter(({ path }) => Math.max(...(samples.get(path) ?? [])) > AIM_MS / 2);
  say(`${slow.length} of them, ${MORE_ROUNDS} times more`);
  await measure(slow, MORE_ROUNDS);
  operator.close();
  owned.close();
  const slowest = [...samples]
    .map(([path, times]) => ({ path, p95: percentile(times, 0.95) }))
    .toSorted((one, other) => other.p95 - one.p95);
  const over = slowest.filter(({ p95 }) => p95 > AIM_MS);
  for (const { path, p95 } of over) process.stderr.write(`  p95 ${p95.toFixed(0)} ms  GET ${path}\n`);
  return {
    what: `every list and filter (${requests.length}), ${servers.toLocaleString("en")} servers`,
    ours: `p95 at most ${slowest[0]?.p95.toFixed(0)} ms; ${over.length} over ${AIM_MS} ms`,
    floor: "",
    ratio: "",
    aim: `≤ ${AIM_MS} ms`,
    reached: over.length === 0,
  };
}
