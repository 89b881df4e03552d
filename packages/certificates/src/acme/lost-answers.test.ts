import { requirePart } from "@kule/testing/parts";
import { HttpFaultProxy } from "@kule/testing/rig/http-fault-proxy";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeCertificateRequest } from "../certificate-request.ts";
import { answerStateless, type Issuing, stepsOf } from "../testing/issuing.ts";
import { type Pebble, probePebble, startPebble } from "../testing/pebble.ts";
import { openAccount } from "./account.ts";
import { makeAccountKey } from "./account-key.ts";
import { type AcmeClient, openAcmeClient } from "./acme-client.ts";
import { AcmeUnavailable } from "./acme-error.ts";

const pebblePart = await requirePart("pebble", probePebble, import.meta.filename);
const key = makeAccountKey();

describe.skipIf(pebblePart.missing)("With a CA that refuses every second nonce", () => {
  let pebble: Pebble;
  let proxy: HttpFaultProxy;
  let answers: { close(): Promise<void> };

  beforeAll(async () => {
    pebble = await startPebble({ refusedNoncesPercent: 50 });
    proxy = await HttpFaultProxy.open({
      target: pebble.origin,
      identity: pebble.identity,
      random: () => 0,
    });
    answers = await answerStateless(pebble.httpPort, key);
  });
  afterAll(async () => {
    await answers?.close();
    await proxy?.close();
    await pebble?.close();
  });

  /** Repeats each step until it is done, as a worker does. */
  async function issueThroughFaults(client: AcmeClient): Promise<void> {
    const names = ["localhost"];
    const kept: Issuing = { names, type: "http-01", csrDer: makeCertificateRequest(names).csrDer };
    for (const [, step] of stepsOf(async () => {}))
      for (let isDone = false; !isDone; )
        try {
          await step(client, key, kept);
          isDone = true;
        } catch (error) {
          // Four refused nonces one after another are left to the next try as well.
          const isBadNonce = error instanceof Error && error.message.includes("badNonce");
          if (!isBadNonce && !(error instanceof AcmeUnavailable)) throw error;
        }
    expect(kept.facts?.names).toEqual(names);
  }

  const openClient = () =>
    openAcmeClient({
      directoryUrl: `${proxy.origin}/dir`,
      network: "any",
      rootsPem: pebble.identity.certificatePem,
    });

  test("the way ends with a certificate when an answer is lost and a later call does not arrive, wherever that is", async () => {
    let lostAnswers = 0;
    for (let nth = 1; ; nth += 1) {
      const removeLost = proxy.add({ action: "drop-after", nth, count: 1 });
      const removeDropped = proxy.add({ action: "drop-before", nth: nth + 2, count: 1 });
      const client = openClient();
      try {
        await issueThroughFaults(client);
      } finally {
        client.close();
      }
      removeDropped();
      // The way was over before its call came: all of them have been cut.
      if (removeLost() === 0) break;
      lostAnswers += 1;
    }
    expect(lostAnswers).toBeGreaterThan(10);
  });

  test("a refused nonce is replaced at once, and given up after three times", async () => {
    const nonceErrors: number[] = [];
    const client = openClient();
    const failures = new Set<string>();
    for (let time = 0; time < 20; time += 1) {
      const before = proxy.counts().forwarded ?? 0;
      const failure = await openAccount(client, key, { contactEmails: [], agreesToTerms: true }).then(
        () => "",
        (error) => String(error),
      );
      if (failure !== "") failures.add(failure.replace(/.*(badNonce).*/s, "$1"));
      nonceErrors.push((proxy.counts().forwarded ?? 0) - before);
    }
    client.close();
    expect([...failures].every((failure) => failure === "badNonce")).toBe(true);
    expect(Math.max(...nonceErrors.slice(1))).toBeGreaterThan(1);
    // Directory and nonce of the first, then one call and three repetitions.
    expect(Math.max(...nonceErrors)).toBeLessThanOrEqual(6);
  });
});
