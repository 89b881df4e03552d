import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { Conflict, NotFound, Unavailable } from "../../platform/errors.ts";
import { actAs, mutation, type Outcome } from "../../platform/mutation.ts";
import type { Reply } from "../../platform/reply.ts";
import { inTransaction } from "../../platform/transaction.ts";
import { accepted, unchanged } from "./answers.ts";
import { askedBy } from "./apply.ts";
import { ownershipRefusal, refuseUnless, requireDns } from "./domain-refusals.ts";
import { lookForProof, type Proof } from "./look-for-proof.ts";
import { noteNotProven, type Proving, proveDomain } from "./prove-domain.ts";
import type { DomainDetails } from "./store.ts";

/** The check did not prove the domain. */
class NotProven extends Conflict {
  readonly ends: Extract<Proving, { is: "refused" }>["ends"];
  constructor({ problem, ends }: Extract<Proving, { is: "refused" }>, id: string, seen: string) {
    super(ownershipRefusal(problem, id, seen));
    this.ends = ends;
  }
}

/** Asks the Internet whether the domain is the organisation's. */
export async function verifyDomain(
  request: ApiRequest<"verifyDomain">,
  found: DomainDetails,
): Promise<Reply> {
  const isOpen = found.status === "pending" || (found.is_verified && found.verified_by === "parent");
  const proof = isOpen ? await proofOf(request, found) : null;
  try {
    return await mutation(request, (tx) => prove(request, tx, found, proof));
  } catch (error) {
    if (error instanceof NotProven)
      await note(request, found, { seen: proof?.seen ?? null, ends: error.ends });
    throw error;
  }
}

/** @throws Unavailable when nobody could be asked */
async function proofOf(request: ApiRequest, found: DomainDetails): Promise<Proof> {
  const proof = await lookForProof(requireDns(request.deps.dns), found);
  if (proof.isUnknown) {
    await note(request, found, { seen: proof.seen, ends: null });
    throw new Unavailable(`the domain cannot be looked for at the moment. ${proof.seen}`, 30);
  }
  return proof;
}

async function prove(
  request: ApiRequest<"verifyDomain">,
  tx: Tx,
  found: DomainDetails,
  proof: Proof | null,
): Promise<Outcome> {
  const outcome = await proveDomain(tx, found, proof, askedBy(request));
  switch (outcome.is) {
    case "gone":
      throw new NotFound();
    case "proven":
      return accepted(request, tx, found, outcome.job);
    case "refused":
      throw new NotProven(outcome, found.id, proof?.seen ?? "");
    case "decided":
      if (!outcome.domain.is_verified) refuseUnless("verify", outcome.domain);
      return unchanged(request, tx, found);
  }
}

/** What was seen is kept though the request is refused. */
function note(
  { db }: ApiRequest,
  found: DomainDetails,
  what: Parameters<typeof noteNotProven>[2],
): Promise<void> {
  return inTransaction(db, async (tx) => {
    actAs(tx, found.organisation_id);
    await noteNotProven(tx, found, what);
  });
}
