import { type CertificateWish, makeCertificate } from "@kule/certificates/testing/made-certificates";
import { makeSealingKeyPair, type SealingKeyPair } from "@kule/sealed-secret/sealed-secret";
import type { ApiCaller } from "./api-caller.ts";

export type MadeUpload = {
  readonly certificate: string;
  readonly chain: string;
  readonly private_key: string;
};

const dayMs = 86_400_000;
const fromNow = (days: number) => new Date(Date.now() + days * dayMs);

/** What a user uploads: valid now, for 60 days, of a CA that nobody knows. */
export async function madeUpload(
  names: readonly string[],
  more: Omit<CertificateWish, "names" | "issuer"> = {},
): Promise<MadeUpload> {
  const ofCa = { isCa: true, notBefore: fromNow(-30), notAfter: fromNow(3_650) };
  const root = await makeCertificate({ ...ofCa, subject: "CN=Test Root" });
  const issuer = await makeCertificate({ ...ofCa, subject: "CN=Test R1", issuer: root });
  const leaf = await makeCertificate({
    notBefore: fromNow(-1),
    notAfter: fromNow(60),
    ...more,
    names: names.map((value) => ({ type: "dns" as const, value })),
    issuer,
  });
  return { certificate: leaf.pem, chain: issuer.pem, private_key: leaf.keyPem };
}

/** Reports the key that the region's secrets are sealed to from now on. */
export async function reportSealingKey(agent: ApiCaller): Promise<SealingKeyPair> {
  const pair = makeSealingKeyPair();
  const answer = await agent.post("/agent/health", {
    agent_version: "0.1.0",
    hypervisor: { kind: "proxmox", reachable: true },
    public_key: pair.publicKey,
  });
  if (answer.body?.agent_key !== "in_use")
    throw new Error(`the region's agent has another key: ${JSON.stringify(answer.body)}`);
  return pair;
}
