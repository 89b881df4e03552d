export type MigrationFacts = {
  /** The names of all migrations, in the order of the list. */
  readonly names: readonly string[];
  /** Names of the released migrations, in their order. */
  readonly released: readonly string[];
  /** Whether the contract of a release is stored: there has been a release. */
  readonly isContractReleased: boolean;
  /** The tables of a release are stored. */
  readonly areTablesReleased: boolean;
  /** The statements of the baseline. */
  readonly baseline: string;
};

/** The violations of the rules for migrations; each text says what to do. */
export function migrationFaults({
  names,
  released,
  isContractReleased,
  areTablesReleased,
  baseline,
}: MigrationFacts): readonly string[] {
  const faults: string[] = [];
  for (const [index, name] of names.entries())
    if (!new RegExp(`^${String(index + 1).padStart(4, "0")}-[a-z-]+-[0-9a-f]{12}$`).test(name))
      faults.push(`${name} is number ${index + 1}: name it 000N-what-it-is-about, numbered without gaps`);
  for (const [index, name] of released.entries())
    if (names[index] !== name)
      faults.push(
        `${name} has been released and is not there any more: undo what changed its statements or its place, and add a migration`,
      );
  if (released.length === 0 && names.length > 1)
    faults.push(`${names.slice(1).join(", ")}: before the first release, edit the baseline instead`);
  if (isContractReleased !== released.length > 0 || areTablesReleased !== isContractReleased)
    faults.push(
      "docs/api/released.yaml, released-migrations.ts and released-tables.json are written together, by a release",
    );
  // A table's row-level security follows it; two tables that refer to each other need one key afterwards.
  const later =
    /^(create or replace|drop|update|alter table (?!\w+ (enable|force) row level security|\w+ add constraint \w+ foreign key)).*/gim;
  for (const [statement] of baseline.matchAll(later))
    faults.push(`the baseline makes everything in its final form, without: ${statement}`);
  return faults;
}
