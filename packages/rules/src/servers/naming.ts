const pattern = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;
export const maxServerNameLength = 63;

/** Words that a YAML reader (such as cloud-init's) takes for a boolean or for null. */
const yamlWords = new Set(["y", "n", "yes", "no", "on", "off", "true", "false", "null"]);

/** Texts that a YAML reader takes for a number or a date, as far as a name's characters allow it. */
const yamlNumbers = [
  /^\d+$/,
  /^\d+e-?\d+$/,
  /^0x[0-9a-f]+$/,
  /^0o[0-7]+$/,
  /^0b[01]+$/,
  /^\d{4}-\d{1,2}-\d{1,2}$/,
];

/** Why the text cannot be a server's name and its guest's hostname, as a sentence, or null when it can. */
export function serverNameProblem(name: string): string | null {
  if (name.length > maxServerNameLength) return `must have at most ${maxServerNameLength} characters`;
  if (!pattern.test(name))
    return "must be lower-case letters, digits and hyphens, and begin and end with a letter or digit";
  if (yamlWords.has(name)) return `must not be ${name}: the guest would read it as a value, not as text`;
  if (yamlNumbers.some((number) => number.test(name)))
    return "must not be a number or a date: the guest would read it as a value, not as text";
  return null;
}
