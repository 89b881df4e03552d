/** A form in which a secret may lie about. */
export type Needle = { readonly encoding: string; readonly text: string };

/**
 * The secret as it is and as programs write it: hexadecimal (how Postgres shows bytea), base64 at each of the three
 * places where it can begin within a longer text, percent-encoded, escaped in JSON and in SQL.
 *
 * @throws Error when it is so short that it would be found by chance
 */
export function needlesOf(secret: string): Needle[] {
  const bytes = Buffer.from(secret);
  if (bytes.length < 8) throw new Error("a secret of fewer than 8 bytes would be found by chance");
  const hex = bytes.toString("hex");
  const forms: Needle[] = [
    { encoding: "plain", text: secret },
    { encoding: "hex", text: hex },
    { encoding: "HEX", text: hex.toUpperCase() },
    { encoding: "percent-encoded", text: encodeURIComponent(secret) },
    { encoding: "percent-encoded twice", text: encodeURIComponent(encodeURIComponent(secret)) },
    { encoding: "JSON", text: JSON.stringify(secret).slice(1, -1) },
    { encoding: "SQL", text: secret.replaceAll("'", "''") },
  ];
  for (const before of [0, 1, 2])
    for (const alphabet of ["base64", "base64url"] as const)
      forms.push({ encoding: alphabet, text: base64Core(bytes, before, alphabet) });
  const seen = new Set<string>();
  return forms.filter(({ text }) => !seen.has(text) && seen.add(text));
}

/** The base64 characters that depend on these bytes alone, when so many other bytes come before them. */
function base64Core(bytes: Buffer, before: number, alphabet: "base64" | "base64url"): string {
  const text = Buffer.concat([Buffer.alloc(before), bytes])
    .toString(alphabet)
    .replace(/={1,2}$/, "");
  const start = Math.ceil((before * 8) / 6);
  const end = Math.floor(((before + bytes.length) * 8) / 6);
  return text.slice(start, end);
}
