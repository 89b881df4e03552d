/** Proxmox sorts, lower-cases and de-duplicates tags as the datacenter is configured: read them as a set. */
export function parseTags(text: string | undefined): string[] {
  const words = (text ?? "").split(/[;, ]+/).filter((tag) => tag !== "");
  return [...new Set(words.map((tag) => tag.toLowerCase()))].sort();
}

export function renderTags(tags: readonly string[]): string {
  return parseTags(tags.join(";")).join(";");
}

export function sameTags(one: readonly string[], other: readonly string[]): boolean {
  return renderTags(one) === renderTags(other);
}

/** A single tag as pve-common accepts it. */
export const TAG_PATTERN = /^[a-z0-9_][a-z0-9_+.-]*$/i;
