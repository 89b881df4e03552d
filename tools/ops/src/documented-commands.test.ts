import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join, resolve } from "node:path";
import { serve } from "@hono/node-server";
import { ApiWorld, firstOperatorToken } from "@kule/api/testing/api-world";
import { runWorker } from "@kule/api/worker/run";
import { stepsOf } from "@kule/testing/documented-commands";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commands } from "./commands/commands.ts";

const root = resolve(import.meta.dirname, "../../..");
const page = readFileSync(join(root, "docs/runbooks/ops.md"), "utf8");

let world: ApiWorld;
let directory: string;
let stopServing: () => void;
beforeAll(async () => {
  world = await ApiWorld.open();
  directory = mkdtempSync(join(tmpdir(), "kule-ops-"));
  const server = serve({ fetch: world.app.fetch, hostname: "127.0.0.1", port: 0 });
  if (!server.listening) await once(server, "listening");
  stopServing = () => server.close();
  mkdirSync(join(directory, ".kule"));
  writeFileSync(
    join(directory, ".kule/quickstart.json"),
    JSON.stringify({
      api_url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/api/v1`,
      operator_token: await firstOperatorToken(world.database.ownerUrl),
    }),
  );
  // `npm run -s ops -- …` of the clone, typed in another directory.
  mkdirSync(join(directory, "bin"));
  const npm = join(directory, "bin/npm");
  const main = join(root, "tools/ops/src/main.ts");
  writeFileSync(
    npm,
    `#!/bin/sh\n[ "$1 $2 $3 $4" = "run -s ops --" ] || exit 64\nshift 4\nexec '${process.execPath}' '${main}' "$@"\n`,
  );
  chmodSync(npm, 0o755);
});
afterAll(async () => {
  stopServing();
  await world.close();
  rmSync(directory, { recursive: true });
});

test("the commands of the page do what it says, and every command is on it", async () => {
  const worker = await runWorker({ deps: world.replica.deps, workerUrl: world.database.workerUrl });
  const script = stepsOf(page)
    .map(({ commands: typed }) => typed)
    .join("\n");
  const shell = spawn("sh", ["-eu", "-c", script], {
    cwd: directory,
    env: { PATH: [join(directory, "bin"), process.env.PATH ?? ""].join(delimiter), HOME: directory },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 110_000,
  });
  let output = "";
  for (const stream of [shell.stdout, shell.stderr])
    stream.on("data", (chunk) => {
      output += chunk;
    });
  const [code] = await once(shell, "close");
  await worker.stop();
  expect([code, output]).toEqual([0, expect.stringContaining("0 violations")]);
  expect(output).toMatch(/^POST http:\/\/\S+\/organisations$/m);
  expect(output).toMatch(/^KULE_AGENT_TOKEN=kule_\S+$/m);
  expect(output).toMatch(/^ank1 +agent .* never /m);
  expect(readdirSync(directory).sort()).toEqual([".kule", "ank1.yaml", "bin", "example.json"]);
  expect(JSON.parse(readFileSync(join(directory, "example.json"), "utf8")).organisation.slug).toBe("example");
  const typed = commands.filter(({ noun, verb }) => script.includes(`ops -- ${noun} ${verb}`));
  expect(typed.map(({ noun, verb }) => `${noun} ${verb}`)).toEqual(
    commands.map(({ noun, verb }) => `${noun} ${verb}`),
  );
}, 120_000);
