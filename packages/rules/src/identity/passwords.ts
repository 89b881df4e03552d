/** The owner of a password: what others know of the person makes it easy to guess. */
export type PasswordOwner = { readonly email: string; readonly name: string };

export const minPasswordCharacters = 12;
const minOwnCharacters = 8;
const minDifferentCharacters = 5;

/**
 * Why a password is too easy to guess, or null. Length and not composition is what counts (NIST SP 800-63B).
 */
export function passwordDefect(
  password: string,
  owner: PasswordOwner,
): "too_short" | "too_few_different" | "says_who_you_are" | null {
  const characters = [...password.toLowerCase()];
  if (characters.length < minPasswordCharacters) return "too_short";
  if (new Set(characters).size < minDifferentCharacters) return "too_few_different";
  const known = [owner.email, ...owner.email.split(/[@.+_-]/), ...owner.name.split(/\s+/), "kule", "password"]
    .map((word) => word.toLowerCase())
    .filter((word) => word.length >= 3)
    .sort((one, other) => other.length - one.length);
  const rest = known.reduce((left, word) => left.replaceAll(word, ""), characters.join(""));
  return [...rest].length < minOwnCharacters ? "says_who_you_are" : null;
}
