/** The database has migrations that this build does not know; the message says what to do about it. */
export class UnknownMigrations extends Error {
  override name = "UnknownMigrations";
  readonly code = "unknown_migrations";

  /** @param names of the migrations, in their order */
  constructor(names: readonly string[]) {
    const others = names.length - 1;
    super(
      `This build of Kule does not know what the database was migrated by: ${names[0]}${others > 0 ? ` and ${others} more` : ""}. Nothing was changed. Use the build that migrated it or a later release. A database of a build before the first release is not carried over: make a new one (for npm start: docs/runbooks/quickstart.md, “Start afresh”).`,
    );
  }
}
