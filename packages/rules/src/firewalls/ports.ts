/** Ports of TCP or UDP, both ends included. */
export type PortRange = { readonly first: number; readonly last: number };

const form = /^(\d{1,5})(?:-(\d{1,5}))?$/;

/** Reads `22` or `8000-8100`; null when the text is neither, or goes backwards. */
export function parsePorts(text: string): PortRange | null {
  const match = form.exec(text);
  if (match === null) return null;
  const first = portOf(match[1] ?? "");
  const last = match[2] === undefined ? first : portOf(match[2]);
  return first === null || last === null || last < first ? null : { first, last };
}

/** How many numbers a rule may contain: no hypervisor's rule accepts more. */
export const maxPortNumbers = 15;

/** A range counts as two. */
export function portNumbers(ranges: readonly PortRange[]): number {
  return ranges.reduce((sum, { first, last }) => sum + (first === last ? 1 : 2), 0);
}

export function formatPorts({ first, last }: PortRange): string {
  return first === last ? String(first) : `${first}-${last}`;
}

/** An empty list stands for all ports. */
export function includesPort(ranges: readonly PortRange[], port: number): boolean {
  return ranges.length === 0 || ranges.some(({ first, last }) => port >= first && port <= last);
}

function portOf(digits: string): number | null {
  const port = Number(digits);
  return String(port) === digits && port >= 1 && port <= 65_535 ? port : null;
}
