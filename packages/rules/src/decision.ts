import type { ConflictCode, PreconditionName } from "./preconditions.ts";
import type { QuotaFigures } from "./quotas/names.ts";

/**
 * One reason why the state does not allow the request: the contract's precondition, in our words. Created by
 * the constructors of refusals.ts, one for each code.
 */
export type Refusal<Code extends ConflictCode = ConflictCode> = {
  /** What must hold, such as `server_not_protected`. */
  readonly name: PreconditionName;
  readonly code: Code;
  readonly message: string;
  /** Id of the resource that prevents it. */
  readonly resource: string | null;
  /** The call that would make it hold. */
  readonly fix: string | null;
  /** Of a full quota: its figures. */
  readonly quota?: QuotaFigures;
};
