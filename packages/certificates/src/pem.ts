/** One block of a PEM text. */
export interface PemBlock {
  /** Such as `CERTIFICATE`. */
  readonly label: string;
  /** What lies between the two lines, with headers where it has some. */
  readonly body: string;
}

const BEGIN = "-----BEGIN ";
const DASHES = "-----";
const MAX_LABEL_CHARACTERS = 40;

/**
 * The blocks of a text in their order; what lies between them (what openssl prints beside a block) is left out.
 *
 * @returns null when a block begins and does not end
 */
export function readPemBlocks(text: string): readonly PemBlock[] | null {
  const blocks: PemBlock[] = [];
  let at = text.indexOf(BEGIN);
  while (at >= 0) {
    const labelAt = at + BEGIN.length;
    const labelEnd = text.indexOf(DASHES, labelAt);
    if (labelEnd < 0 || labelEnd - labelAt > MAX_LABEL_CHARACTERS) return null;
    const label = text.slice(labelAt, labelEnd);
    const bodyAt = labelEnd + DASHES.length;
    const end = `${DASHES}END ${label}${DASHES}`;
    const bodyEnd = text.indexOf(end, bodyAt);
    if (bodyEnd < 0) return null;
    blocks.push({ label, body: text.slice(bodyAt, bodyEnd) });
    at = text.indexOf(BEGIN, bodyEnd + end.length);
  }
  return blocks;
}

/** The bytes of a block without headers, or null when it is not base64. */
export function pemBytes(block: PemBlock): Buffer | null {
  const base64 = block.body.replaceAll(/\s+/g, "");
  if (base64 === "" || !/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return null;
  return Buffer.from(base64, "base64");
}
