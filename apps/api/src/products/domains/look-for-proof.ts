import { findDelegation, readTxt } from "@kule/dns/resolve";
import { provesDelegation, verificationRecord } from "@kule/rules/domains/ownership-proof";
import type { DnsInstallation } from "../../platform/dns-installation.ts";
import { observedOf } from "./check-domain.ts";
import type { DomainRow } from "./store.ts";
import { provingNameServers } from "./view.ts";

/** What the Internet's name servers say about a domain. */
export type Proof = {
  /** Null: the domain is not proven. */
  readonly by: "record" | "name_servers" | null;
  /** The name servers that the parent says, without final dots; null: it could not be asked. */
  readonly observed: readonly string[] | null;
  /** Neither the TXT record nor the delegation could be asked for. */
  readonly isUnknown: boolean;
  /** For people, when it is not proven. */
  readonly seen: string;
};

/**
 * Asks for the TXT record and the delegation. It takes up to ten seconds: never in a transaction.
 *
 * The TXT record must be at the name itself. Where its name is an alias, whoever has the alias' target could enter it.
 */
export async function lookForProof(
  { resolving }: DnsInstallation,
  domain: Pick<DomainRow, "name" | "verification_token" | "name_servers" | "label">,
): Promise<Proof> {
  const record = verificationRecord(domain.name, domain.verification_token);
  const [txt, delegation] = await Promise.all([
    readTxt(record.name, resolving, { aliases: "refuse" }),
    findDelegation(domain.name, resolving),
  ]);
  const observed = observedOf(delegation);
  const own = { all: domain.name_servers, proving: provingNameServers(domain) };
  const by =
    observed !== null && provesDelegation(observed, own)
      ? "name_servers"
      : txt.outcome === "answered" && txt.values.includes(record.value)
        ? "record"
        : null;
  return {
    by,
    observed: observed?.map((name) => name.toLowerCase().replace(/\.$/, "")) ?? null,
    isUnknown: by === null && txt.outcome === "unresolved" && delegation.outcome === "unresolved",
    seen: `${txtInWords(record.name, txt)}. ${delegationInWords(domain.name, delegation)}.`,
  };
}

/** At most so much of what others' name servers say is kept. */
const longestQuote = 100;
const mostQuotes = 5;

function txtInWords(name: string, answer: Awaited<ReturnType<typeof readTxt>>): string {
  switch (answer.outcome) {
    case "unresolved":
      return `The name servers of ${quoted(answer.zone)} do not say whether ${name} has a TXT record`;
    case "alias":
      return `${name} is an alias of ${quoted(answer.target)}, and a proof behind an alias does not count`;
    case "answered":
      return answer.values.length === 0
        ? `${name} has no TXT record`
        : `${name} has other TXT records: ${list(answer.values)}`;
  }
}

function delegationInWords(name: string, delegation: Awaited<ReturnType<typeof findDelegation>>): string {
  switch (delegation.outcome) {
    case "unresolved":
      return `The name servers of ${quoted(delegation.zone)} do not say which name servers ${name} has`;
    case "not-delegated":
      return `${name} has no name servers of its own`;
    case "delegated":
      return `${name} is delegated to ${list(delegation.nameServers.map((server) => server.name))}`;
  }
}

function list(texts: readonly string[]): string {
  const shown = texts.slice(0, mostQuotes).map(quoted).join(", ");
  return texts.length > mostQuotes ? `${shown} and ${texts.length - mostQuotes} more` : shown;
}

/** Anybody can have written it, in any bytes; Postgres keeps no NUL. */
function quoted(text: string): string {
  const line = text.replaceAll(/[^\x20-\x7e]/g, "?");
  return line.length > longestQuote ? `${line.slice(0, longestQuote)}…` : line;
}
