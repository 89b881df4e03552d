// The region's texts about a server that its owner may see: figures, addresses and the hypervisor's words for
// states. A region could write anything into a name, a tag or a bridge; operators read those as they are.

const forms = [
  /^\d{1,16}$/,
  /^(on|off|without a MAC|ACCEPT|REJECT|DROP)$/,
  /^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}$/,
  /^\d{1,7} rules?(, others)?$/,
];

/** One IPv4 or IPv6 address or block, by its characters alone. */
const address = /^[0-9a-fA-F:.]{2,45}(\/\d{1,3})?$/;
const maxAddressesLength = 1_000;

/** The text as it is in one of the closed forms; `another` for any other. */
export function knownSeenText(seen: string | null): string | null {
  if (seen === null) return null;
  if (forms.some((form) => form.test(seen))) return seen;
  const isAddresses =
    seen.length <= maxAddressesLength && seen.split(" ").every((part) => address.test(part));
  return isAddresses ? seen : "another";
}

const hostname = /^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$/;

/** A guest's name for itself, if it is one. */
export function guestHostname(text: string | null): string | null {
  return text !== null && hostname.test(text) ? text : null;
}

const osName = /^[A-Za-z0-9][A-Za-z0-9 ._()+/-]{0,99}$/;

/** A guest's name for its operating system, if it is a short one without marks of punctuation. */
export function guestOs(text: string | null): string | null {
  return text !== null && osName.test(text) ? text : null;
}

/** Of the addresses that a guest reports, those that are valid. */
export function guestAddresses(texts: readonly string[]): string[] {
  return texts.filter((text) => address.test(text));
}
