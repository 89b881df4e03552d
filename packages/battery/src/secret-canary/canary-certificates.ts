import { setTimeout as delay } from "node:timers/promises";
import type { Answer, ApiCaller } from "@kule/api/testing/api-caller";
import { madeUpload } from "@kule/api/testing/made-upload";
import { decryptAccountKey } from "@kule/certificates/acme/account-key";
import { readMasterKeys } from "@kule/certificates/master-key";
import { openSecret } from "@kule/sealed-secret/sealed-secret";
import pg from "pg";
import { secretsOfKey } from "../secret-search/private-keys.ts";
import type { CanaryWorld } from "./canary-world.ts";

const issuedMilliseconds = 60_000;
const domain = "canary.example";

/**
 * Certificates are uploaded, replaced and refused, and one is issued: each private key, the account's key and what the worker
 * has for the CA are secrets.
 */
export async function certificates(world: CanaryWorld, round: number): Promise<void> {
  const { api, region } = world;
  const owner = api.caller(region.organisationToken);
  await uploads(world, owner, round);
  if (round === 0) await provenDomain(world);
  const name = `issued-${round}`;
  const managed = {
    name,
    type: "managed",
    region: "lab1",
    domain_names: [`www${round}.${domain}`, `*.www${round}.${domain}`],
  };
  const { certificate, job } = made(await owner.post("/certificates", managed));
  await region.untilDone(job.id);
  const issued = await untilIssued(owner, certificate.id);
  await learnKeys(world, issued, round);
  made(await owner.get(`/certificates/${certificate.id}/challenges`));
  made(await owner.get("/certificates"));
  made(await owner.get(`/audit?resource=${certificate.id}`));
  // The key of the one before is a secret all the same.
  const renewed = made(await owner.post(`/certificates/${certificate.id}/renew`));
  await region.untilDone(renewed.job.id);
  await learnKeys(world, await untilIssued(owner, certificate.id, issued.version), round);
  await owner.delete(`/certificates/${certificate.id}`);
}

type Issued = { readonly id: string; readonly version: number };

async function uploads({ secrets }: CanaryWorld, owner: ApiCaller, round: number): Promise<void> {
  const upload = async (what: string) => {
    const made = await madeUpload([`upload-${round}.example`]);
    for (const secret of secretsOfKey(`${what} (${round})`, made.private_key))
      secrets.learn(secret.what, secret.value);
    return made;
  };
  const name = `upload-${round}`;
  const body = { name, type: "uploaded", region: "lab1" };
  const first = await upload("the key of an upload");
  const { certificate } = made(await owner.post("/certificates", { ...body, ...first }));
  const second = await upload("the key of a replacement");
  made(await owner.put(`/certificates/${certificate.id}/material`, second));
  const refused = await upload("a key that is refused");
  const { private_key } = refused;
  const wrong = [
    { ...first, private_key },
    { ...refused, chain: private_key },
    { certificate: private_key, private_key },
    { ...refused, password: private_key },
    { ...refused, name: private_key },
  ];
  for (const each of wrong) await owner.post("/certificates", { ...body, name: `${name}-no`, ...each });
  await owner.post("/certificates", `{"private_key": ${JSON.stringify(private_key)}`);
  await owner.put(`/certificates/${certificate.id}/material`, { ...first, private_key });
  made(await owner.get(`/certificates/${certificate.id}`));
  if (round > 0) await owner.delete(`/certificates/${certificate.id}`);
}

/** A domain that is proven: how that happens is no matter of secrets. */
async function provenDomain(world: CanaryWorld): Promise<void> {
  await asOwner(world, (client) =>
    client.query(
      `insert into domain (id, organisation_id, name, status, verified_by, verified_at, default_ttl_seconds,
                           verification_token, label, name_servers, observed_generation)
       select 'dom_canary', organisation_id, $1, 'active', 'record', clock_timestamp(), 3600, 'canary', 'canary',
              '{canary.ns1.kule.example}', 1
         from server limit 1`,
      [domain],
    ),
  );
}

async function untilIssued(owner: ApiCaller, id: string, after = 0): Promise<Issued> {
  for (const deadline = performance.now() + issuedMilliseconds; ; await delay(200)) {
    const { version, renewal } = made(await owner.get(`/certificates/${id}`));
    if (version !== null && version > after) return { id, version };
    if (performance.now() > deadline) throw new Error(`it is not issued: ${JSON.stringify(renewal)}`);
  }
}

/** The region's agent can open the certificate's, and the worker's master key opens the account's. */
async function learnKeys(world: CanaryWorld, { id, version }: Issued, round: number): Promise<void> {
  const { secrets } = world;
  const learn = (what: string, pem: string) => {
    for (const secret of secretsOfKey(what, pem)) secrets.learn(secret.what, secret.value);
  };
  const keys = readMasterKeys({ KULE_MASTER_KEY: world.certificateAuthority.masterKey });
  if (keys === null) throw new Error("there is no master key");
  const [material, account] = await asOwner(world, async (client) => [
    (
      await client.query(
        "select sealed_key from certificate_version where certificate_id = $1 and version = $2",
        [id, version],
      )
    ).rows[0],
    (await client.query("select directory_url, encrypted_key from acme_account")).rows[0],
  ]);
  learn(
    `the key of version ${version} of an issued certificate (${round})`,
    openSecret(world.agentKey(), material.sealed_key, `${id}:${version}`),
  );
  const key = decryptAccountKey(keys, account.encrypted_key, account.directory_url);
  learn("the key of the account at the CA", key.export({ type: "pkcs8", format: "pem" }).toString());
}

async function asOwner<Result>(
  { region }: CanaryWorld,
  work: (client: pg.Client) => Promise<Result>,
): Promise<Result> {
  const client = new pg.Client({ connectionString: region.database.ownerUrl });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

function made(answer: Answer): Answer["body"] {
  if (answer.status >= 300) throw new Error(`${answer.status} ${JSON.stringify(answer.body)}`);
  return answer.body;
}
