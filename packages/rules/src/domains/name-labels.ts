import { type Flaw, shown } from "./problem.ts";

/** What can be wrong with the labels of any name: of a domain, of a record set, of a target. */
export type LabelRule = "empty_label" | "label_too_long" | "name_too_long" | "characters";

/**
 * `host`: letters, digits and hyphens inside (RFC 1123). `domain`: also underscores. `record`: also hyphens at
 * the ends, which exist in names that other providers have given.
 */
export type LabelKind = "host" | "domain" | "record";

/** Of a name as text without its final dot: 255 octets on the wire. */
export const maxNameLength = 253;
const maxLabelLength = 63;
/** Of a text that is converted: punycode takes the square of the length, and no longer text has a name that fits. */
const maxTypedLength = 300;

const labelForms: { readonly [Kind in LabelKind]: RegExp } = {
  host: /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/,
  domain: /^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?$/,
  record: /^[a-z0-9_-]+$/,
};

const allowedIn: { readonly [Kind in LabelKind]: string } = {
  host: "letters, digits and hyphens, with no hyphen at its ends",
  domain: "letters, digits, underscores and hyphens, with no hyphen at its ends",
  record: "letters, digits, hyphens and underscores",
};

/**
 * The name in lower case and ASCII: labels with other letters become punycode (`münchen` is `xn--mnchen-3ya`).
 *
 * @returns null when that is not possible. An ASCII text is only put in lower case, whatever it contains.
 */
export function toAscii(text: string): string | null {
  if (/^[ -~]*$/.test(text)) return text.toLowerCase();
  if (text.length > maxTypedLength || !isConvertible(text)) return null;
  // With a last label of our own, the URL takes no text for an IPv4 address and changes it.
  const suffix = ".invalid";
  try {
    const { hostname } = new URL(`https://${text}${suffix}/`);
    return hostname.endsWith(suffix) ? hostname.slice(0, -suffix.length) : null;
  } catch {
    return null;
  }
}

/** A URL gives many ASCII characters a meaning (`/`, `@`, `%`) and leaves line breaks out: no name has these. */
function isConvertible(text: string): boolean {
  return [...text].every((character) => character > "~" || /[\w.*-]/.test(character));
}

/** What is wrong with a name in ASCII without its final dot, or null. */
export function nameFlaw(name: string, kind: LabelKind): Flaw<LabelRule> | null {
  const tooLong = lengthFlaw(name.length);
  if (tooLong !== null) return tooLong;
  for (const label of name.split(".")) {
    const flaw = labelFlaw(label, kind, name);
    if (flaw !== null) return flaw;
  }
  return null;
}

/** The flaw of a whole name of that length, or null. @param max a limit below that of all names */
export function lengthFlaw(length: number, max = maxNameLength): Flaw<"name_too_long"> | null {
  if (length <= max) return null;
  return {
    rule: "name_too_long",
    message: `The whole name has ${length} characters; it can have at most ${max}`,
    fix: "Enter a shorter name",
  };
}

function labelFlaw(label: string, kind: LabelKind, name: string): Flaw<LabelRule> | null {
  if (label === "")
    return {
      rule: "empty_label",
      message: `${shown(name)} has a dot with nothing before or after it`,
      fix: "Remove the dot that is too many",
    };
  if (label.length > maxLabelLength)
    return {
      rule: "label_too_long",
      message: `${shown(label)} has ${label.length} characters; a part between dots has at most ${maxLabelLength}`,
      fix: "Enter a shorter name",
    };
  return labelForms[kind].test(label) ? null : characters(label, kind);
}

/** The flaw of a label with characters that it cannot have. */
export const characters = (label: string, kind: LabelKind): Flaw<LabelRule> => ({
  rule: "characters",
  message: `${shown(label)} is not a part of a name: such a part has ${allowedIn[kind]}`,
  fix: "Leave out the other characters",
});
