// U7: an update is wanted while a job is at each of its steps. The job ends as if nothing had been wanted, and no other one begins.

import { existsSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { httpCalls } from "@kule/agent/api-calls";
import { ClaimLoop } from "@kule/agent/claim-loop";
import { ControlPlane } from "@kule/agent/control-plane";
import { LAYOUT } from "@kule/agent/install/layout";
import { agentRuntime } from "@kule/agent/runtime";
import { countingRegion, stopPayload } from "@kule/agent/testing/counting-program";
import { FakeControlPlane, TEST_TOKEN } from "@kule/agent/testing/fake-control-plane";
import { memoryLog } from "@kule/agent/testing/memory-log";
import { UpdateRig } from "@kule/agent/testing/update-rig";
import { releasesOf } from "@kule/agent/update/release-source";
import { REQUEST_FILE } from "@kule/agent/update/request";
import { UPDATE_LIMITS } from "@kule/agent/update/updatable";
import { UpdateLoop } from "@kule/agent/update/update-loop";
import type { Part } from "./part.ts";

const STEPS = ["shut-down", "detach", "snapshot", "tag"];
const FILE = Buffer.from("a newer agent");
/** Far more than a look takes. */
const LOOKS_MILLISECONDS = 150;
const LIMIT_MILLISECONDS = 20_000;

async function until(holds: () => boolean): Promise<boolean> {
  const end = performance.now() + LIMIT_MILLISECONDS;
  while (!holds()) {
    if (performance.now() > end) return false;
    await delay(5);
  }
  return true;
}

/** @param at the step that the job is at */
async function wantedAt(at: string): Promise<string[]> {
  const found: string[] = [];
  const wrong = (text: string) => void found.push(`an update while a job is at ${at}: ${text}`);
  const rig = new UpdateRig();
  const fake = await FakeControlPlane.start();
  const stop = new AbortController();
  const reached = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const region = countingRegion(STEPS, async ({ name }) => {
    if (name !== at) return;
    reached.resolve();
    await goOn.promise;
  });
  const { log } = memoryLog();
  const claims = new ClaimLoop({
    controlPlane: new ControlPlane({
      calls: httpCalls(fake.url, TEST_TOKEN),
      runtime: agentRuntime,
      crashPoint: () => {},
    }),
    runtime: agentRuntime,
    log,
    crashPoint: () => {},
    run: region.run,
    agentVersion: "1.0.0",
    agentName: "battery",
    capabilities: ["ServerStop"],
    publicKey: Buffer.alloc(32, 9).toString("base64"),
    concurrency: 4,
  });
  const updates = new UpdateLoop({
    source: releasesOf(fake.url, TEST_TOKEN, agentRuntime),
    claims,
    runtime: agentRuntime,
    log,
    crashPoint: () => {},
    root: rig.root,
    stateDirectory: rig.at(LAYOUT.state),
    runningVersion: "1.0.0",
    architecture: "x64",
    builtIn: rig.publisher.builtIn,
    limits: { ...UPDATE_LIMITS, lookEveryMs: 5 },
  });
  const asked = () => existsSync(rig.inAgentFolder(REQUEST_FILE));
  const running = [claims.run(stop.signal), updates.run(stop.signal)];
  try {
    fake.releases.set("1.1.0", { manifest: rig.publisher.sign("1.1.0", FILE), file: FILE });
    const job = fake.offer("job_1", stopPayload());
    await reached.promise;
    updates.wants("1.1.0");
    if (!(await until(() => updates.progress?.state === "draining" || asked()))) wrong("it never drains");
    const late = fake.offer("job_2", stopPayload("srv_2"));
    await delay(LOOKS_MILLISECONDS);
    if (asked()) wrong("the updater is asked while it held the job");
    goOn.resolve();
    if (!(await until(asked))) wrong("the updater is never asked");
    if (job.outcome?.status !== "succeeded" || job.epoch !== 1)
      wrong(`the job ended as ${job.outcome?.status} in its attempt ${job.epoch}`);
    if (region.effects.join() !== STEPS.join()) wrong(`its effects were ${region.effects.join()}`);
    if (late.epoch !== 0) wrong("another job was begun");
  } finally {
    stop.abort();
    goOn.resolve();
    await claims.releaseJobs(0);
    await Promise.all(running);
    await fake.stop();
    rig.end();
  }
  return found;
}

export const duringJobs: Part = async () => {
  const found: string[] = [];
  for (const step of STEPS) found.push(...(await wantedAt(step)));
  return { what: "updates during jobs", cases: STEPS.length, found };
};
