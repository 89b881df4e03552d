/** The name in lower case with its final dot: `Example.com` is `example.com.`, the root is `.`. */
export function absoluteName(name: string): string {
  const lower = name.toLowerCase();
  return lower.endsWith(".") ? lower : `${lower}.`;
}

/** True when `name` is `zone` or lies below it; both absolute. */
export function isWithin(name: string, zone: string): boolean {
  return zone === "." || name === zone || name.endsWith(`.${zone}`);
}

/** The absolute name without its first label; the parent of the root is null. */
export function parentName(name: string): string | null {
  if (name === ".") return null;
  return name.slice(name.indexOf(".") + 1) || ".";
}

/**
 * True when the absolute name can be asked for: labels of 1 to 63 printable ASCII characters, at most 255 bytes on the
 * wire. A backslash is refused because what follows it could be read as part of the label or as its end.
 */
export function isAskableName(name: string): boolean {
  if (name === ".") return true;
  return name.length <= 254 && /^(?:[\x21-\x2d\x2f-\x5b\x5d-\x7e]{1,63}\.)+$/.test(name);
}
