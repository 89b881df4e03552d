import { spawnSync } from "node:child_process";
import {
  chmodSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { operations } from "@kule/contract/generated/operations";
import { probeWires } from "@kule/lab/wires/wires";
import { findFreePort } from "@kule/postgres/free-port";
import { removePostgresData } from "@kule/postgres/launcher";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startProcess, type TestProcess, untilReady } from "../child-process.ts";
import { runSteps, type StepResult, stepsOf, verdictOf, withoutRealGuests } from "../documented-commands.ts";
import { requirePart } from "../parts.ts";

const root = resolve(import.meta.dirname, "../../../..");

const wires = await requirePart("wires", probeWires, import.meta.filename);

/** Their region needs an edge. */
const needsEdge = ["docs/products/networks.md", "docs/products/gateways.md"];

/** The pages with commands. */
const pages = [
  "README.md",
  "docs/products/servers.md",
  ...(wires.missing ? [] : needsEdge),
  "docs/products/public-ips.md",
  "docs/products/server-console.md",
  "docs/products/domains.md",
  "docs/products/load-balancers.md",
  "docs/runbooks/invariants.md",
];

/** Pages whose commands are for another place than the directory of `npm start`. */
const leftOut: { readonly [path: string]: string } = {
  "docs/products/regions.md": "for the machine of a worker, with a region file of its own",
  "docs/runbooks/backup-and-restore.md":
    "typed by row H2 of the battery, as the account of a Postgres of its own",
  "docs/runbooks/ops.md": "typed by tools/ops/src/documented-commands.test.ts, in a clone and not beside it",
  "docs/sign-in-providers.md": "starts another installation, with a provider's secret",
};

test("no page with commands is left out", () => {
  const withCommands = globSync(["README.md", "docs/**/*.md"], { cwd: root }).filter((path) =>
    /^```sh$/m.test(readFileSync(join(root, path), "utf8")),
  );
  const known = new Set([...pages, ...needsEdge, ...Object.keys(leftOut)]);
  expect(withCommands.sort()).toEqual([...known].sort());
});

/** The commands of a page, as far as they need a running installation; real guests are another test's. */
const stepsOfPage = (path: string) =>
  stepsOf(withoutRealGuests(readFileSync(join(root, path), "utf8"))).filter(
    ({ commands }) => !/^npm (start|test|run)/m.test(commands),
  );

/** The products whose every operation a newcomer finds in these pages. */
const shown = new Set([
  "servers",
  "public-ips",
  "ip-pools",
  "domains",
  "ssh-keys",
  "usage",
  "quotas",
  "catalog",
]);

/** What the test itself and `npm start` put into the directory. */
const ofThisTest = new Set([".kule", ".ssh", "bin", "calls.log"]);

/** A page that works in both orders leans on no other: each is once before and once after every other. */
describe.each([
  ["in the order of reading", pages],
  ["the other way round", pages.toReversed()],
])("the commands of every page, %s", (_, ordered) => {
  /** A directory with `npm start` in it: the pages' commands are typed there. */
  let directory: string;
  let run: TestProcess;
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), "kule-documented-"));
    chmodSync(directory, 0o755);
    const [api, console, lab, dns] = await Promise.all([
      findFreePort(),
      findFreePort(),
      findFreePort(),
      findFreePort(),
    ]);
    run = startProcess("npm start", [join(root, "tools/quickstart/src/main.ts")], {
      HOME: process.env.HOME ?? "/",
      KULE_HOME: join(directory, ".kule"),
      KULE_API_PORT: String(api),
      KULE_CONSOLE_PORT: String(console),
      KULE_LAB_PORT: String(lab),
      KULE_LAB_DNS_PORT: String(dns),
      KULE_LAB_TIME_SCALE: "0",
    });
    await untilReady(run, async () => (run.output().includes("Ctrl-C stops") ? true : undefined), 120_000);
    mkdirSync(join(directory, ".ssh"));
    writeFileSync(
      join(directory, ".ssh/id_ed25519.pub"),
      "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl somebody@laptop\n",
    );
  }, 180_000);
  afterAll(async () => {
    await run?.end("SIGTERM");
    removePostgresData(join(directory, ".kule/postgres"));
    rmSync(directory, { recursive: true, force: true });
  }, 60_000);

  test("each answers what its page says, and together they show every operation", {
    timeout: 300_000,
  }, async () => {
    const results: StepResult[] = [];
    for (const path of ordered) {
      const typed = await runSteps(stepsOfPage(path), { directory, home: directory });
      const wrong = typed.results.map(verdictOf).filter((verdict) => verdict !== null);
      expect([path, typed.code, ...wrong]).toEqual([path, 0]);
      expect(typed.results.some(({ calls }) => calls.length > 0)).toBe(true);
      results.push(...typed.results);
    }
    const missing = Object.values(operations)
      .filter(({ tag }) => shown.has(tag))
      .filter(({ method, path }) => !results.some((result) => succeededWith(result, method, path)))
      .map(({ id }) => id);
    expect(missing).toEqual([]);
    // Typed in a clone, they leave nothing that git would commit.
    const written = readdirSync(directory).filter((name) => !ofThisTest.has(name));
    expect(written.length).toBeGreaterThanOrEqual(wires.missing ? 0 : 10);
    const ignored = spawnSync("git", ["check-ignore", ...written], { cwd: root, encoding: "utf8" });
    expect(ignored.stdout.split("\n").filter(Boolean).sort()).toEqual(written.sort());
  });
});

function succeededWith({ calls }: StepResult, method: string, path: string): boolean {
  const pattern = new RegExp(`^/api/v1${path.replaceAll(".", "\\.").replaceAll(/\{\w+\}/g, "[^/]+")}$`);
  return calls.some(
    (call) => call.method === method.toUpperCase() && call.status < 300 && pattern.test(call.url.pathname),
  );
}
