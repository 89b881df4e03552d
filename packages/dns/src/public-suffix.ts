import { getPublicSuffix } from "tldts";

/**
 * True for a name under which registries let others register, such as `co.uk`, by the public suffix list's part of registries.
 * Names under which companies do so, such as `github.io`, are those companies' domains.
 *
 * @param name canonical. One whose top-level domain is not on the list, such as `shop.test`, is no suffix
 */
export function isPublicSuffix(name: string): boolean {
  return name.includes(".") && getPublicSuffix(name, { allowPrivateDomains: false }) === name;
}
