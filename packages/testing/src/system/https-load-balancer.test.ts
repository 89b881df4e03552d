// What docs/products/load-balancers.md lets a person type: two web servers that really boot, a certificate of the lab's CA, and a
// load balancer that answers with both in turn.

import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { probePebble } from "@kule/lab/certificate-authority/pebble-daemon";
import { findFreePort } from "@kule/postgres/free-port";
import { removePostgresData } from "@kule/postgres/launcher";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startProcess, type TestProcess, untilReady } from "../child-process.ts";
import { realGuestPart, runSteps, type StepResult, stepsOf, verdictOf } from "../documented-commands.ts";
import { requirePart } from "../parts.ts";
import { IMAGE_TIMEOUT_MS, requireRealGuests } from "../real-guests/real-guests-part.ts";

const root = resolve(import.meta.dirname, "../../../..");
const page = readFileSync(join(root, "docs/products/load-balancers.md"), "utf8");
const parts = [
  await requireRealGuests(import.meta.filename),
  await requireRealGuests(import.meta.filename, "kule-lb"),
  await requirePart("pebble", probePebble, import.meta.filename),
];
/** Three guests boot, one after the other. */
const TIMEOUT_MS = 480_000;

describe.skipIf(parts.some(({ missing }) => missing))("an https load balancer, by copied commands", () => {
  let directory: string;
  let run: TestProcess;
  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), "kule-https-"));
    chmodSync(directory, 0o755);
    const ports = await Promise.all([findFreePort(), findFreePort(), findFreePort(), findFreePort()]);
    const [api, console, lab, dns] = ports.map(String);
    run = startProcess("npm start", [join(root, "tools/quickstart/src/main.ts"), "--real-guests"], {
      HOME: process.env.HOME ?? "/",
      KULE_HOME: join(directory, ".kule"),
      KULE_API_PORT: api ?? "",
      KULE_CONSOLE_PORT: console ?? "",
      KULE_LAB_PORT: lab ?? "",
      KULE_LAB_DNS_PORT: dns ?? "",
      KULE_LAB_TIME_SCALE: "0",
    });
    await untilReady(
      run,
      async () => (run.output().includes("Ctrl-C stops") ? true : undefined),
      IMAGE_TIMEOUT_MS,
    );
  }, IMAGE_TIMEOUT_MS);
  afterAll(async () => {
    await run?.end("SIGTERM");
    removePostgresData(join(directory, ".kule/postgres"));
    rmSync(directory, { recursive: true, force: true });
  }, 60_000);

  test("answers with both servers in turn, and without one of them with the other", {
    timeout: TIMEOUT_MS + 60_000,
  }, async () => {
    const steps = stepsOf(realGuestPart(page));
    const typed = await runSteps(steps, { directory, home: directory, timeoutMs: TIMEOUT_MS });
    const wrong = typed.results.map(verdictOf).filter((verdict) => verdict !== null);
    expect([typed.code, ...wrong], run.output()).toEqual([0]);
    const [inTurn = "", alone = ""] = typed.results.filter(isVisit).map(({ output }) => output.trim());
    expect(inTurn).toMatch(/^(web-1\nweb-2\nweb-1\nweb-2|web-2\nweb-1\nweb-2\nweb-1)$/);
    expect(alone).toMatch(/^web-2\nweb-2$/m);
  });
});

const isVisit = ({ commands }: StepResult) => /^visit;/m.test(commands);
