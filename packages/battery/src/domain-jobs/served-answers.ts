import { Resolver } from "node:dns/promises";
import type { ApiCaller } from "@kule/api/testing/api-caller";

type Shown = { readonly fqdn: string; readonly type: string; readonly values: readonly string[] };

/**
 * Compares the addresses and texts that the API shows of a domain with what its name server answers, both ways for the
 * names that are asked.
 *
 * @param gone names that the domain had once
 * @returns what differs, as sentences
 */
export async function differingAnswers(
  owner: ApiCaller,
  domainId: string,
  server: string,
  gone: readonly string[] = [],
): Promise<string[]> {
  const resolver = new Resolver({ timeout: 1_000, tries: 2 });
  resolver.setServers([server]);
  const shown = (await owner.get(`/domains/${domainId}/records?limit=200`)).body.items as readonly Shown[];
  const found: string[] = [];
  for (const { fqdn, type, values } of shown) {
    const answered = await ask(resolver, fqdn, type);
    const wanted = values.map((value) => (type === "TXT" ? plainText(value) : value));
    if (answered.toSorted().join() !== wanted.toSorted().join())
      found.push(`${fqdn} ${type} is ${answered.join(" ") || "nothing"}, not ${wanted.join(" ")}`);
  }
  const names = new Set(shown.map(({ fqdn }) => fqdn));
  for (const name of gone)
    if (!names.has(name)) {
      const answered = await ask(resolver, name, "A");
      if (answered.length > 0) found.push(`${name} A is still ${answered.join(" ")}`);
    }
  return found;
}

async function ask(resolver: Resolver, name: string, type: string): Promise<string[]> {
  try {
    if (type === "TXT") return (await resolver.resolveTxt(name)).map((parts) => parts.join(""));
    return (await resolver.resolve(name, type)) as string[];
  } catch (error) {
    return [(error as NodeJS.ErrnoException).code ?? String(error)].filter(
      (code) => code !== "ENOTFOUND" && code !== "ENODATA",
    );
  }
}

/** Of one short string without escapes, as this row writes them. */
const plainText = (value: string) => value.slice(1, -1);
