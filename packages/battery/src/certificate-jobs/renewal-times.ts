import { type CaLifetime, ninetyDays } from "./ca-orders.ts";
import type { CertificateStage } from "./certificate-stage.ts";
import { issuedOnce, type KnownKeys, type Standing, standingOf } from "./issued-once.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** Certificates have times of whole seconds. */
const toleranceMs = 2_000;

/** Of 90 days, with so much of them left. */
const withLeft = (leftMs: number): CaLifetime => ({ fromMs: leftMs - 90 * dayMs, toMs: leftMs });

/**
 * The clock comes to the time of renewal: with certificates of which a third of the lifetime is left in an hour, or was an hour
 * ago, and with a CA whose window begins in ten days, or is over.
 */
export async function renewalTimes(
  stage: CertificateStage,
  keys: KnownKeys,
): Promise<{ readonly tried: number; readonly found: readonly string[] }> {
  const parts = [thirdIsLeft, thirdWasLeft, windowOfTheCa, windowIsOver];
  let tried = 0;
  for (const part of parts) {
    const found = await part(stage, keys);
    tried += 1;
    if (found.length > 0) return { tried, found: found.map((text) => `by the clock: ${text}`) };
  }
  return { tried, found: [] };
}

async function thirdIsLeft(stage: CertificateStage, keys: KnownKeys): Promise<string[]> {
  const found = await issueWith(stage, keys, withLeft(30 * dayMs + hourMs));
  const { renewal, not_before, not_after } = await stage.world.certificate(stage.id);
  const [start, end] = [Date.parse(not_before ?? ""), Date.parse(not_after ?? "")];
  const planned = Date.parse(renewal?.renew_at ?? "");
  if (Math.abs(end - (end - start) / 3 - planned) > toleranceMs)
    found.push(`it is to be renewed at ${renewal?.renew_at}, not with a third of its lifetime left`);
  return [...found, ...(await begins(stage, 0, "an hour before a third of its lifetime is left"))];
}

async function thirdWasLeft(stage: CertificateStage, keys: KnownKeys): Promise<string[]> {
  const found = await issueWith(stage, keys, withLeft(30 * dayMs - hourMs));
  const before = await standingOf(stage);
  found.push(...(await begins(stage, 1, "an hour after a third of its lifetime was left")));
  found.push(...(await begins(stage, 0, "while it is renewed")));
  return found.length > 0 ? found : finish(stage, before, keys);
}

async function windowOfTheCa(stage: CertificateStage): Promise<string[]> {
  stage.ca.window = { startMs: 10 * dayMs, endMs: 11 * dayMs };
  const found = await begins(stage, 0, "ten days before the CA's window");
  const { renewal } = await stage.world.certificate(stage.id);
  const planned = Date.parse(renewal?.renew_at ?? "") - Date.now();
  // The window was told a moment ago.
  if (!(planned > 10 * dayMs - hourMs && planned < 11 * dayMs))
    found.push(`it is to be renewed at ${renewal?.renew_at}, and not in the CA's window`);
  return found;
}

async function windowIsOver(stage: CertificateStage, keys: KnownKeys): Promise<string[]> {
  stage.ca.window = { startMs: -2 * hourMs, endMs: -hourMs };
  // The time after which the CA wants to be asked again.
  await stage.world.served.rows("update certificate set window_asked_at = null where id = $1", [stage.id]);
  const before = await standingOf(stage);
  // It is asked when the renewals of this look are over.
  const found = await begins(stage, 0, "before the CA was asked again");
  found.push(...(await begins(stage, 1, "after the CA's window")));
  stage.ca.window = null;
  return found.length > 0 ? found : finish(stage, before, keys);
}

/** How many renewals the worker begins in its minute. */
async function begins(stage: CertificateStage, renewals: number, when: string): Promise<string[]> {
  const { renewed } = await stage.world.lookAfter();
  return renewed === renewals ? [] : [`${renewed} renewals begin ${when}`];
}

async function issueWith(stage: CertificateStage, keys: KnownKeys, lifetime: CaLifetime): Promise<string[]> {
  const before = await standingOf(stage);
  stage.ca.lifetime = lifetime;
  await stage.renew();
  const found = await finish(stage, before, keys);
  stage.ca.lifetime = ninetyDays;
  return found;
}

async function finish(stage: CertificateStage, before: Standing, keys: KnownKeys): Promise<string[]> {
  await stage.world.makeKey();
  const { found, failures } = await stage.drive();
  if (failures.length > 0) found.push(`an attempt has failed with ${failures[0]?.code}`);
  return found.length > 0 ? found : issuedOnce(stage, before, keys);
}
