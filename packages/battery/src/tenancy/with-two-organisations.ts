import type { ApiWorld } from "@kule/api/testing/api-world";
import { destroyNow } from "@kule/api/testing/proofs/destroy-server";
import { openTwoOrganisations, type TwoOrganisations } from "@kule/api/testing/proofs/two-organisations";

/**
 * Two organisations with the same resources, for as long as the work takes.
 *
 * @param world where to create them, and the caller's to close; a new one when absent
 */
export async function withTwoOrganisations<Result>(
  work: (all: TwoOrganisations) => Promise<Result>,
  world?: ApiWorld,
): Promise<Result> {
  const all = await openTwoOrganisations(destroyNow, world);
  try {
    return await work(all);
  } finally {
    if (world === undefined) await all.close();
  }
}
