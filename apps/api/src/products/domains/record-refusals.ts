import { quotaExceeded, resourceDeleting } from "@kule/rules/refusals";
import { Conflict } from "../../platform/errors.ts";
import type { DomainRow } from "./store.ts";

export function domainFull({ id, record_limit: limit }: DomainRow, count: number): Conflict {
  return new Conflict(
    quotaExceeded("domain_has_room", `a domain has at most ${limit} record sets; it would have ${count}`, {
      resource: id,
      fix: "Delete record sets that are not needed, or ask an operator",
    }),
  );
}

/** @throws Conflict for a domain that is being deleted: its record sets cannot be changed */
export function refuseWhileDeleting({ id, status }: DomainRow): void {
  if (status !== "pending_deletion" && status !== "deleting") return;
  throw new Conflict(
    resourceDeleting(
      "domain_not_deleting",
      "the domain is being deleted; its record sets cannot be changed",
      {
        resource: id,
        fix: status === "pending_deletion" ? `POST /domains/${id}/cancel-deletion` : null,
      },
    ),
  );
}
