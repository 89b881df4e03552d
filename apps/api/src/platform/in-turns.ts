/** Does the work for each, a few at the same time. The first error ends it once those that run have ended. */
export async function inTurns<Item>(
  items: readonly Item[],
  atTheSameTime: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const left = items.values();
  const runners = Array.from({ length: atTheSameTime }, async () => {
    for (const item of left) await work(item);
  });
  const failed = (await Promise.allSettled(runners)).find((each) => each.status === "rejected");
  if (failed !== undefined) throw failed.reason;
}
