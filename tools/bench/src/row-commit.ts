import { execFile } from "node:child_process";
import { existsSync, globSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { createScene } from "./create-scene.ts";
import { type Installation, ownerClient } from "./installation.ts";
import { closedLoop } from "./load.ts";
import { median } from "./statistics.ts";
import type { Row } from "./table.ts";

const CLIENTS = 16;

/** POST /servers, compared with pgbench's commits of one row: slow SQL cannot hide in a floor of its own. */
export async function commitRow(installation: Installation, seconds: number): Promise<Row> {
  const scene = await createScene(installation, "commit1", CLIENTS);
  const owner = await ownerClient(installation);
  await owner.query(
    "create table bench_commit (id bigint generated always as identity primary key, at timestamptz)",
  );
  await closedLoop(CLIENTS, 1, scene.create);
  const [ours, bare]: [number[], number[]] = [[], []];
  for (let round = 0; round < 3; round += 1) {
    bare.push(await commitsPerSecond(installation, Math.max(1, Math.round(seconds / 3))));
    ours.push((await closedLoop(CLIENTS, seconds / 3, scene.create)).perSecond);
  }
  await owner.query("drop table bench_commit");
  await owner.end();
  scene.close();
  const ratio = median(ours) / median(bare);
  return {
    what: `POST /servers against a commit, ${CLIENTS} clients`,
    ours: `${Math.round(median(ours))}/s`,
    floor: `${Math.round(median(bare))}/s commits of one row by pgbench`,
    ratio: ratio.toFixed(3),
    aim: "≥ 0.050",
    reached: ratio >= 0.05,
  };
}

/** @throws Error when this machine has no pgbench */
async function commitsPerSecond(installation: Installation, seconds: number): Promise<number> {
  const programs = ["/usr/bin/pgbench", ...globSync("/usr/lib/postgresql/*/bin/pgbench")];
  const program = programs.find((path) => existsSync(path));
  if (program === undefined)
    throw new Error("there is no pgbench: install Debian's postgresql-client or postgresql-contrib");
  const directory = mkdtempSync(join(tmpdir(), "kule-bench-pgbench-"));
  const script = join(directory, "commit.sql");
  writeFileSync(script, "insert into bench_commit (at) values (now());\n");
  const { hostname, port, username, password, pathname } = new URL(installation.ownerUrl);
  const { stdout } = await promisify(execFile)(
    program,
    [
      ...["--no-vacuum", "--protocol=prepared", `--client=${CLIENTS}`, "--jobs=2", `--time=${seconds}`],
      ...[`--file=${script}`, `--host=${hostname}`, `--port=${port}`, `--username=${username}`],
      pathname.slice(1),
    ],
    { env: { PGPASSWORD: decodeURIComponent(password) } },
  );
  rmSync(directory, { recursive: true, force: true });
  const rate = /tps = ([\d.]+)/.exec(stdout)?.[1];
  if (rate === undefined) throw new Error(`pgbench printed no rate: ${stdout}`);
  return Number(rate);
}

/** POST /servers by all clients in one subnet, compared with a subnet for each of them. */
export async function subnetsRow(installation: Installation, seconds: number): Promise<Row> {
  const [one, many] = [
    await createScene(installation, "subnet1", CLIENTS),
    await createScene(installation, "subnet16", CLIENTS, CLIENTS),
  ];
  for (const { create } of [one, many]) await closedLoop(CLIENTS, 1, create);
  const [ours, floor]: [number[], number[]] = [[], []];
  for (let round = 0; round < 3; round += 1) {
    floor.push((await closedLoop(CLIENTS, seconds / 3, many.create)).perSecond);
    ours.push((await closedLoop(CLIENTS, seconds / 3, one.create)).perSecond);
  }
  one.close();
  many.close();
  const ratio = median(ours) / median(floor);
  return {
    what: `POST /servers in one subnet, ${CLIENTS} clients`,
    ours: `${Math.round(median(ours))}/s`,
    floor: `${Math.round(median(floor))}/s in ${CLIENTS} subnets`,
    ratio: ratio.toFixed(2),
    aim: "≥ 0.80",
    reached: ratio >= 0.8,
  };
}
