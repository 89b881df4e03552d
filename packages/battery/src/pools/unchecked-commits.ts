import type { SourcePatch } from "@kule/build/source-patch";

/**
 * The database refuses to commit an incomplete allocation. A mutant of the release of allocations needs that
 * check off, or only the refusal would be seen.
 */
export const uncheckedCommits: SourcePatch = {
  file: "packages/database/src/migrations/0001-baseline/platform.ts",
  find: "raise exception using errcode = '23514', constraint = p_rule, message = p_message;",
  replace: "return;",
};
