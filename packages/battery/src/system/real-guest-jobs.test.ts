// Every kind of server job once, against guests that really boot.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { call } from "@kule/lab/api-client";
import type { Lab } from "@kule/lab/lab";
import { SERVER_JOB_KINDS } from "@kule/programs/registry";
import {
  IMAGE_TIMEOUT_MS,
  realGuestRoots,
  requireRealGuests,
} from "@kule/testing/real-guests/real-guests-part";
import { describe, expect, test } from "vitest";
import { courseOfServer } from "../job-kinds/course.ts";
import { RegionScene } from "../job-kinds/region-scene.ts";
import { type Subject, vmidOf } from "../job-kinds/scene.ts";

const part = await requireRealGuests(import.meta.filename);
/** A restart, whose guest first shuts down, on a busy machine. */
const JOB_MS = 240_000;
/** What is adopted is a VM without a disk: a stranger of the lab's, whose guest is simulated. */
const SIMULATED = ["ServerAdopt"];

describe.skipIf(part.missing)("with real guests", () => {
  test("every kind of server job succeeds, and what runs afterwards has booted", {
    timeout: IMAGE_TIMEOUT_MS + 20 * JOB_MS,
  }, async () => {
    const realGuests = await realGuestRoots();
    const options = { hasWires: true, realGuests, leaseSeconds: 20 };
    await RegionScene.use(
      options,
      async (scene) => {
        scene.world.startAgent();
        const work: Parameters<ReturnType<typeof courseOfServer>["begin"]>[1] = async (subject, kind) => {
          const job = await scene.work(subject, kind, JOB_MS);
          await booted(scene, subject);
          return job;
        };
        for (const kind of SERVER_JOB_KINDS) {
          const course = courseOfServer(kind);
          const subject = await course.begin(scene, work);
          await onceKnown(() => course.cause(scene, subject));
          await scene.work(subject, kind, JOB_MS);
          expect(await course.violations(scene, subject), kind).toEqual([]);
          if (SIMULATED.includes(kind)) continue;
          const seen = await booted(scene, subject);
          if (kind === "PublicIpAttach") expect(seen).toContain("100.64.");
          if (kind === "PublicIpDetach") expect(seen).not.toContain("100.64.");
        }
      },
      undefined,
      "debian-12",
    );
  });
});

/**
 * What a scan of the region found while the guest was booting, that its agent does not answer, is what the API says until
 * the next scan.
 */
async function onceKnown(cause: () => Promise<void>): Promise<void> {
  const deadline = performance.now() + JOB_MS;
  for (;;) {
    try {
      return await cause();
    } catch (error) {
      if (!String(error).includes('"guest_agent_unavailable"') || performance.now() > deadline) throw error;
      await delay(2_000);
    }
  }
}

/** Waits for the guest agent of a server that runs, and returns the addresses that the guest has. */
async function booted(scene: RegionScene, subject: Subject): Promise<string> {
  const vmid = await vmidOf(scene, subject);
  const vm = (await scene.vms()).find((each) => each.vmid === vmid);
  if (vm?.running !== true) return "";
  const { url, operatorToken } = JSON.parse(readFileSync(join(scene.world.labDirectory, "lab.json"), "utf8"));
  const [operatorTokenId = "", operatorTokenSecret = ""] = operatorToken.split("=");
  const lab = { url, operatorTokenId, operatorTokenSecret } as Lab;
  const deadline = performance.now() + JOB_MS;
  for (;;) {
    const found = await call(lab, "GET /cluster/resources?type=vm", { as: "operator" });
    const node = found.data.find((each: { vmid: number }) => each.vmid === vmid)?.node;
    const answer = await call(lab, `GET /nodes/${node}/qemu/${vmid}/agent/network-get-interfaces`, {
      as: "operator",
    });
    if (answer.status === 200) return answer.text;
    if (performance.now() > deadline)
      throw new Error(`VM ${vmid}: ${answer.reason}\n${scene.world.outputs()}`);
    await delay(500);
  }
}
