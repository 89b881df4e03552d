// A guest answers its agent's calls as it likes: nothing of an answer has a shape or a size until it was looked at.

/** Its members, or none when it is no object. */
export function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** What the agent's call returned, inside of Proxmox' answer. */
export function resultOf(answer: unknown): unknown {
  return asRecord(answer).result;
}

/** The first elements, or none when it is no list. */
export function asList(value: unknown, most: number): unknown[] {
  return Array.isArray(value) ? value.slice(0, most) : [];
}

/** A text that is no longer than that; null for anything else. */
export function asText(value: unknown, most: number): string | null {
  return typeof value === "string" && value.length <= most ? value : null;
}
