// A guest answers its agent's calls as it likes: no part of an answer has a known shape or size before it was
// checked.

/** Its members, or none when it is no object. */
export function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}

/** The result of the agent's call, inside of Proxmox' answer. */
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
