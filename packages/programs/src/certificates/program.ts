// CertificateRequest: makes the private key of a certificate, seals it to this region's agent, and makes the request for the
// certificate. Nothing in the region changes, and nothing is kept here: what counts is the outcome that the control plane
// has taken. A run that is repeated makes another key, and the one before is in no outcome.

import { makeCertificateRequest } from "@kule/certificates/certificate-request";
import type { PayloadOf } from "@kule/contract/schemas";
import { sealSecret } from "@kule/sealed-secret/sealed-secret";
import { Failed, RetryLater } from "../errors.ts";
import type { Job, Observed, Program, World } from "../program.ts";

type RequestJob = Job<PayloadOf<"CertificateRequest">>;
type MadeRequest = NonNullable<Observed["certificate_request"]>;
type RequestStep = { readonly do: "make-key" };

/** Of the runs of this process, by their jobs. */
const made = new WeakMap<RequestJob, MadeRequest>();

export const requestCertificate: Program<"CertificateRequest", MadeRequest | null, RequestStep> = {
  kind: "CertificateRequest",
  observe: async (job) => made.get(job) ?? null,
  plan: (_, seen) => (seen === null ? [{ do: "make-key" }] : []),
  apply: {
    "make-key": async (_, job, world, effect) => {
      await effect.beforeCall();
      made.set(job, makeRequest(job.payload, world));
      await effect.answered();
    },
  },
  observed: (_, seen) => {
    if (seen === null) throw new Error("a plan was empty without a request");
    return { power_state: "unknown", certificate_request: seen };
  },
};

function makeRequest(payload: RequestJob["payload"], { openSecret }: World): MadeRequest {
  const { version, context, domain_names: names, public_key: publicKey } = payload;
  const { csrDer, privateKeyPem } = requestFor(names);
  try {
    const sealed = sealSecret(publicKey, privateKeyPem.toString("latin1"), context);
    // The payload names the key. One that is not this agent's would take the private key out of the region.
    requireOwn(() => openSecret(sealed, context));
    return { version, csr: csrDer.toString("base64"), sealed_key: sealed, public_key: publicKey };
  } finally {
    privateKeyPem.fill(0);
  }
}

function requestFor(names: readonly string[]) {
  try {
    return makeCertificateRequest(names);
  } catch (cause) {
    throw new Failed(
      {
        code: "invalid_payload",
        message: "The region cannot use the job's parameters. An operator has to look at it.",
        internal: cause instanceof Error ? cause.message : String(cause),
      },
      { cause },
    );
  }
}

function requireOwn(open: () => unknown): void {
  try {
    open();
  } catch (cause) {
    throw new RetryLater(
      {
        code: "agent_key_pending",
        message: "The region's agent has a new key, and the secret is for the one before.",
        internal: "the payload's public key is not this agent's",
      },
      { cause },
    );
  }
}
