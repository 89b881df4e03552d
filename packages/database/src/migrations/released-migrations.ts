/**
 * The names of the released migrations, in their order; none before the first release. A release adds the new names.
 * From then on `npm run check` refuses a change of their statements or their place.
 */
export const releasedMigrations: readonly string[] = [];
