import { openCertificateAuthority } from "@kule/api/worker/certificate-authority";
import { probePebble, startPebble } from "@kule/certificates/testing/pebble";
import type { CertificateStage } from "./certificate-stage.ts";
import { issuedOnce, type KnownKeys, standingOf } from "./issued-once.ts";

const refusedNoncesPercent = 30;

/**
 * The same certificate issued anew by pebble, which refuses nonces, and forgets its accounts and orders in the middle of one.
 *
 * @returns null, with the reason, on a machine without it
 */
export async function realCa(
  stage: CertificateStage,
  keys: KnownKeys,
): Promise<{ readonly found: readonly string[] } | { readonly missing: string }> {
  const missing = await probePebble();
  if (missing !== undefined) return { missing };
  const { world } = stage;
  const { address, dnsPort } = world.served.lab;
  const pebble = await startPebble({ dnsServer: `${address}:${dnsPort}`, refusedNoncesPercent });
  const { directoryUrl, identity } = pebble;
  const ca = openCertificateAuthority(
    {
      path: world.acmePath,
      file: { directoryUrl, contactEmails: [], network: "any", rootsPem: identity.certificatePem },
    },
    { KULE_MASTER_KEY: world.masterKey },
  );
  try {
    const before = await standingOf(stage);
    await stage.renew();
    await world.makeKey();
    let isForgotten = false;
    const { found, failures } = await stage.drive({
      ca,
      before: async ({ state }) => {
        if (state !== "ordered" || isForgotten) return;
        isForgotten = true;
        await pebble.restart();
      },
    });
    for (const { code } of failures)
      if (code !== "order_lost" && code !== "ca_refused") found.push(`an attempt has failed with ${code}`);
    if (!isForgotten) found.push("no order was forgotten");
    if (found.length === 0) found.push(...(await issuedOnce(stage, before, keys, { atStandIn: false })));
    return { found: found.map((text) => `at a real CA: ${text}`) };
  } finally {
    ca.client.close();
    await pebble.close();
  }
}
