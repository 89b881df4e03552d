import { createPrivateKey, createPublicKey } from "node:crypto";
import { readCertificateRequest } from "@kule/certificates/read-request";
import type { PayloadOf } from "@kule/contract/schemas";
import { makeSealingKeyPair, openSecret } from "@kule/sealed-secret/sealed-secret";
import { describe, expect, test } from "vitest";
import { Failed, RetryLater } from "../errors.ts";
import type { Job, World } from "../program.ts";
import { runProgram } from "../run-program.ts";
import { quietHost, stepsDone } from "../testing/lab-region.ts";
import { SimulatedCrash } from "../testing/survives-a-crash-anywhere.ts";
import { requestCertificate } from "./program.ts";

const agent = makeSealingKeyPair();
const world = {
  openSecret: (sealed: string, context: string) => openSecret(agent.privateKey, sealed, context),
} as unknown as World;
const names = ["example.test", "*.example.test"];

const jobOf = (
  more: Partial<PayloadOf<"CertificateRequest">> = {},
): Job<PayloadOf<"CertificateRequest">> => ({
  id: "job_1",
  payload: {
    kind: "CertificateRequest",
    certificate: { id: "cert_1", organisation_id: "org_1" },
    version: 3,
    domain_names: names,
    public_key: agent.publicKey,
    context: "cert_1:3",
    ...more,
  },
});

const run = (job: Job<PayloadOf<"CertificateRequest">>, at?: (point: string) => void) =>
  runProgram(requestCertificate, job, world, quietHost(at === undefined ? {} : { crashPoint: at }));

describe("the key of a managed certificate", () => {
  test("leaves the region sealed to its agent, with a request for the names", async () => {
    const host = quietHost();
    const observed = await runProgram(requestCertificate, jobOf(), world, host);
    expect(stepsDone(host.events)).toEqual(["make-key"]);
    const made = observed.certificate_request;
    expect(made).toMatchObject({ version: 3, public_key: agent.publicKey });
    const request = readCertificateRequest(Buffer.from(made?.csr ?? "", "base64"));
    expect(request?.names).toEqual(names);
    const key = createPrivateKey(openSecret(agent.privateKey, made?.sealed_key ?? "", "cert_1:3"));
    expect(createPublicKey(key).export({ type: "spki", format: "der" })).toEqual(request?.publicKeyDer);
    expect(JSON.stringify([observed, host.events])).not.toContain("PRIVATE KEY");
    expect(() => openSecret(agent.privateKey, made?.sealed_key ?? "", "cert_1:4")).toThrow();
  });

  test("is not sealed to a key that is not this agent's, whatever the payload says", async () => {
    const stranger = makeSealingKeyPair();
    const error = await run(jobOf({ public_key: stranger.publicKey })).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RetryLater);
    expect(error).toMatchObject({ facts: { code: "agent_key_pending" } });
  });

  test("is not made for names that no certificate can have", async () => {
    for (const domain_names of [["UPPER.test"], ["a.test", "a.test"], []])
      await expect(run(jobOf({ domain_names }))).rejects.toBeInstanceOf(Failed);
  });

  test("is made anew after a crash at any point, and the one before is in no outcome", async () => {
    const points: string[] = [];
    await run(jobOf(), (point) => void points.push(point));
    expect(points).toContain("CertificateRequest.make-key.effect-done");
    const sealed = new Set<string>();
    for (const [index] of points.entries()) {
      let passed = 0;
      const crashed = run(jobOf(), () => {
        if (passed++ === index) throw new SimulatedCrash("killed");
      });
      await expect(crashed).rejects.toBeInstanceOf(SimulatedCrash);
      sealed.add((await run(jobOf())).certificate_request?.sealed_key ?? "");
    }
    expect(sealed.size).toBe(points.length);
  });
});
