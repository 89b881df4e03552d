/**
 * Where code still names what is retired, as texts. Types leave it out, and statements in text are searched: for a column, the
 * files that name its table too.
 *
 * @param files texts by their paths
 */
export function retiredUses(retired: readonly string[], files: ReadonlyMap<string, string>): string[] {
  return retired.flatMap((name) => {
    const words = name.split(".").map((word) => new RegExp(`\\b${word}\\b`));
    return [...files]
      .filter(([, text]) => words.every((word) => word.test(text)))
      .map(([path]) => `${name} is retired and may not be used any more: ${path} names it`);
  });
}
