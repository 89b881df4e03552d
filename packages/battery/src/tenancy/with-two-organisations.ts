import type { ApiWorld } from "@kule/api/testing/api-world";
import { destroyNow } from "@kule/api/testing/proofs/destroy-server";
import { openTwoOrganisations, type TwoOrganisations } from "@kule/api/testing/proofs/two-organisations";

/** Two organisations that have the same, side by side, for as long as the work takes. */
export async function withTwoOrganisations<Result>(
  work: (all: TwoOrganisations) => Promise<Result>,
  world?: ApiWorld,
): Promise<Result> {
  const all = await openTwoOrganisations(destroyNow, world);
  try {
    return await work(all);
  } finally {
    await all.close();
  }
}
