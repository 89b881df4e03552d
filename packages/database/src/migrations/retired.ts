/**
 * Tables and columns that no code uses any more, as `table` or `table.column`: the next release may drop them, this one must not.
 * They are left out of the row types, so that no query can name them.
 */
export const retired: readonly string[] = [];
