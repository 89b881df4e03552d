/**
 * Does the work for 0 to count - 1 with so many clients, each of which takes the next number when it has
 * finished one.
 */
export async function inParallel<T>(
  count: number,
  clients: number,
  work: (index: number) => Promise<T>,
): Promise<T[]> {
  const results: T[] = new Array(count);
  let next = 0;
  const client = async () => {
    for (let index = next++; index < count; index = next++) results[index] = await work(index);
  };
  await Promise.all(Array.from({ length: Math.min(clients, count) }, client));
  return results;
}
