/** The same items in a random order of the generator. */
export function shuffled<T>(things: readonly T[], random: () => number): T[] {
  return things
    .map((thing) => ({ thing, key: random() }))
    .sort((one, other) => one.key - other.key)
    .map(({ thing }) => thing);
}
