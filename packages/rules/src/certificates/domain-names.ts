import { readDomainName } from "../domains/domain-name.ts";
import { inField, type Problem, ProblemList, type Problems, shown } from "../domains/problem.ts";

export type CertificateNameRule =
  | "no_names"
  | "too_many_names"
  | "name_twice"
  | "wildcard_place"
  | "wildcard_needs_dns"
  | "public_suffix"
  | "name";

export type ManagedNamesReading =
  | { readonly ok: true; readonly names: readonly string[] }
  | ({ readonly ok: false } & Problems<Problem<CertificateNameRule>>);

/** CAs take 100 names in a certificate. */
export const maxNames = 100;

/**
 * Reads the names that a managed certificate is to have: `WWW.Example.com` is `www.example.com`, other letters than ASCII
 * become A-labels. The order stays; the first name is the one that CAs show.
 *
 * @param isPublicSuffix of a canonical name, such as `co.uk`: under it others register, and no CA gives a certificate for
 *   all of them
 * @returns canonical names, or all problems with fields such as `/domain_names/2`
 */
export function readManagedNames(
  texts: readonly string[],
  challenge: "dns" | "http",
  isPublicSuffix: (name: string) => boolean,
  at = "/domain_names",
): ManagedNamesReading {
  const problems = new ProblemList<Problem<CertificateNameRule>>();
  const count = countProblem(texts.length, at);
  if (count !== null) problems.add(count);
  const names = new Set<string>();
  for (const [index, text] of texts.slice(0, maxNames).entries()) {
    const field = `${at}/${index}`;
    const reading = readOne(text, field, challenge, isPublicSuffix);
    if (!reading.ok) problems.add(reading.problem);
    else if (names.has(reading.name)) problems.add(twice(reading.name, field));
    else names.add(reading.name);
  }
  return problems.isEmpty ? { ok: true, names: [...names] } : problems.refusal();
}

function countProblem(count: number, at: string): Problem<CertificateNameRule> | null {
  if (count === 0)
    return inField(at, {
      rule: "no_names",
      message: "The certificate has no name",
      fix: "Enter a name such as www.example.com",
    });
  if (count <= maxNames) return null;
  return inField(at, {
    rule: "too_many_names",
    message: `The certificate would have ${count} names`,
    fix: `Enter at most ${maxNames}, or a wildcard such as *.example.com`,
  });
}

type OneReading =
  | { readonly ok: true; readonly name: string }
  | { readonly ok: false; readonly problem: Problem<CertificateNameRule> };

function readOne(
  text: string,
  field: string,
  challenge: "dns" | "http",
  isPublicSuffix: (name: string) => boolean,
): OneReading {
  const wrong = (rule: CertificateNameRule, message: string, fix: string): OneReading => ({
    ok: false,
    problem: inField(field, { rule, message, fix }),
  });
  const typed = text.trim();
  const isWildcard = typed.startsWith("*.");
  const rest = isWildcard ? typed.slice(2) : typed;
  if (rest.includes("*"))
    return wrong(
      "wildcard_place",
      `${shown(typed)} has a star that is not its whole first part`,
      "Enter a name such as *.example.com",
    );
  const reading = readDomainName(rest, { mayBeReverse: false });
  if (!reading.ok) return wrong("name", reading.problem.message, reading.problem.fix);
  const { name } = reading;
  // Underscores are names of records, and CAs refuse them (Baseline Requirements, 7.1.4.2.1).
  if (name.includes("_"))
    return wrong(
      "name",
      `${shown(name)} has an underscore, which no certificate can have`,
      "Enter another name",
    );
  if (isPublicSuffix(name))
    return wrong(
      "public_suffix",
      `Others register their domains under ${name}`,
      `Enter a name of your own, such as example.${name}`,
    );
  if (isWildcard && challenge !== "dns")
    return wrong(
      "wildcard_needs_dns",
      `${shown(typed)} stands for all names below ${name}, which only the DNS can prove`,
      "Set the challenge to dns, or enter the single names",
    );
  return { ok: true, name: isWildcard ? `*.${name}` : name };
}

const twice = (name: string, field: string): Problem<CertificateNameRule> =>
  inField(field, {
    rule: "name_twice",
    message: `${name} is in the list already`,
    fix: "Leave out one of the two",
  });

/** Whether a certificate with this name is for that host: a star stands for exactly one label. */
export function nameCovers(name: string, host: string): boolean {
  if (!name.startsWith("*.")) return name === host;
  const dot = host.indexOf(".");
  return dot > 0 && host.slice(dot + 1) === name.slice(2);
}
