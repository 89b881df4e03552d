/** The known name that a mistyped one most likely meant, or null when none is near. */
export function nearestName(mistyped: string, known: readonly string[]): string | null {
  const plain = (name: string) => name.toLowerCase().replaceAll(/[-_ ]/g, "");
  let best: { name: string; distance: number } | null = null;
  for (const name of known) {
    const distance = editDistance(plain(mistyped), plain(name));
    if (best === null || distance < best.distance) best = { name, distance };
  }
  return best !== null && best.distance <= Math.max(1, Math.floor(best.name.length / 4)) ? best.name : null;
}

function editDistance(left: string, right: string): number {
  let previous = Array.from({ length: right.length + 1 }, (_, index) => index);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const change = (previous[column - 1] ?? 0) + (left[row - 1] === right[column - 1] ? 0 : 1);
      current.push(Math.min(change, (previous[column] ?? 0) + 1, (current[column - 1] ?? 0) + 1));
    }
    previous = current;
  }
  return previous[right.length] ?? 0;
}
