import type { ConflictCode, PreconditionName } from "./preconditions.ts";
import type { QuotaFigures } from "./quotas/names.ts";

/**
 * One reason why the world is not ready for what was asked: the contract's precondition, in our words. Made by the
 * constructors of refusals.ts, one for each code.
 */
export type Refusal<Code extends ConflictCode = ConflictCode> = {
  /** What must hold, such as `server_not_protected`. */
  readonly name: PreconditionName;
  readonly code: Code;
  readonly message: string;
  /** Id of what stands in the way. */
  readonly resource: string | null;
  /** What would make it hold. */
  readonly fix: string | null;
  /** Of a full quota: its figures. */
  readonly quota?: QuotaFigures;
};
