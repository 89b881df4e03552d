import { createPrivateKey, createPublicKey, X509Certificate } from "node:crypto";
import { openSecret } from "@kule/sealed-secret/sealed-secret";
import type { CertificateStage, Material } from "./certificate-stage.ts";

/** How a certificate stands before it is issued anew. */
export type Standing = {
  readonly material: Material | null;
  readonly issued: number;
  readonly orders: number;
  readonly trail: number;
};

export async function standingOf(stage: CertificateStage): Promise<Standing> {
  return {
    material: await stage.material(),
    issued: stage.ca.keys.issued.length,
    orders: stage.ca.orders.length,
    trail: await trailOf(stage),
  };
}

/** The private keys that were in use, in PEM: none of them may be anywhere in clear. */
export type KnownKeys = Set<string>;

/**
 * What is wrong once an order has come to its end: its certificate was issued once and is in use with its key, and nothing of
 * the order is left.
 *
 * @param orders how many the CA may have been asked for
 */
export async function issuedOnce(
  stage: CertificateStage,
  before: Standing,
  keys: KnownKeys,
  { orders = 1, atStandIn = true }: { readonly orders?: number; readonly atStandIn?: boolean } = {},
): Promise<string[]> {
  const found: string[] = [];
  const { world, ca, id } = stage;
  const certificate = await world.certificate(id);
  const now = await stage.material();
  if (now === null) return ["it has no material"];
  if (certificate.status !== "active") found.push(`it is ${certificate.status}`);
  if (certificate.version !== now.version || now.version <= (before.material?.version ?? 0))
    found.push(`version ${certificate.version} follows version ${before.material?.version}`);
  const { failed_attempts, next_attempt_at, last_error } = certificate.renewal ?? {};
  if (failed_attempts !== 0 || next_attempt_at !== null || last_error !== null)
    found.push(`it is issued, and ${JSON.stringify(certificate.renewal)} is told`);
  found.push(...keyProblems(stage, now, keys));
  if (before.material !== null && certificate.previous_fingerprint !== before.material.fingerprint)
    found.push(`the one before is told to be ${certificate.previous_fingerprint}`);
  if (atStandIn) {
    const issued = ca.keys.issued.slice(before.issued);
    const placed = ca.orders.length - before.orders;
    if (issued.length !== 1) found.push(`the CA has issued ${issued.length} certificates`);
    else if (issued[0]?.fingerprint !== now.fingerprint) found.push("another one is in use than was issued");
    if (placed > orders) found.push(`the CA was asked for ${placed} orders, and ${orders} were needed`);
  }
  const trail = (await trailOf(stage)) - before.trail;
  if (trail !== 1) found.push(`the trail says ${trail} times that it was issued`);
  return [...found, ...(await leftOf(stage))];
}

function keyProblems({ world, id, names }: CertificateStage, material: Material, keys: KnownKeys): string[] {
  const { version, chain, sealedKey } = material;
  const certificate = new X509Certificate(chain);
  const found: string[] = [];
  const pem = openSecret(world.agentKey.privateKey, sealedKey, `${id}:${version}`);
  keys.add(pem);
  if (!certificate.checkPrivateKey(createPrivateKey(pem)))
    found.push(`the certificate of version ${version} is of another key than the one that is kept`);
  if (certificate.validToDate.getTime() < Date.now()) found.push(`version ${version} has expired`);
  for (const name of names)
    if (certificate.checkHost(name.replace("*", "any")) === undefined) found.push(`it is not for ${name}`);
  const [, issuerPem] = chain.split(/(?<=-----END CERTIFICATE-----\n)/);
  if (issuerPem === undefined || !certificate.verify(createPublicKey(issuerPem)))
    found.push(`the chain of version ${version} does not lead anywhere`);
  return found;
}

/** Orders, answers of challenges, and sealed keys that nobody needs any more. */
async function leftOf(stage: CertificateStage): Promise<string[]> {
  const { world, id, domain } = stage;
  const rows = await world.served.rows(
    `select 'its order is still there, ' || state as what from certificate_order where certificate_id = $1
     union all select 'a challenge is still answered in ' || domain_id from domain_challenge where certificate_id = $1
     union all select 'version ' || v.version || ' is still kept' from certificate_version v
                 join certificate c on c.id = v.certificate_id and c.version <> v.version where c.id = $1
     union all select 'the result of a ' || kind || ' still holds the sealed key' from job
                where resource_id = $1 and result::text like '%sealed_key%'
     union all select 'its ' || kind || ' is still ' || status from job
                where resource_id = $1 and status in ('queued', 'running')`,
    [id],
  );
  await stage.untilServed();
  const zone = await world.served.provider.readZone(domain.name);
  const served = zone?.recordSets.filter(({ type }) => type === "TXT") ?? [];
  return [
    ...rows.map(({ what }) => String(what)),
    ...served.map(({ name }) => `the name servers still answer at ${name}`),
  ];
}

async function trailOf({ world, id }: CertificateStage): Promise<number> {
  const [row] = await world.served.rows(
    "select count(*)::int as entries from audit where action = 'certificate.issue' and resource = $1",
    [id],
  );
  return Number(row?.entries);
}
