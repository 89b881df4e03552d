/** The same things in an order that the generator chooses. */
export function shuffled<T>(things: readonly T[], random: () => number): T[] {
  return things
    .map((thing) => ({ thing, key: random() }))
    .sort((one, other) => one.key - other.key)
    .map(({ thing }) => thing);
}
