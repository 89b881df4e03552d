import type { Schemas } from "@kule/contract/schemas";
import type { Messages } from "../../messages/messages.ts";
import { sentence } from "../../problem-messages.ts";
import type { CheckFacts } from "./check-facts.ts";

type Check = Schemas["DomainCheck"];
type ServerState = Check["name_servers"][number]["state"];

const stateOf: Readonly<Record<string, ServerState>> = {
  name_server_behind: "serves_older",
  name_server_not_serving: "not_serving",
  name_server_silent: "silent",
};

export type ShownProblem = { readonly text: string; readonly fix: string; readonly isEnglish: boolean };

/**
 * What a check found, in the page's language: the text is chosen by the code and names what the other fields of the answer
 * have. English shows the API's own words, and so does a code that is not known yet.
 */
export function checkProblems(messages: Messages, domain: Schemas["Domain"], check: Check): ShownProblem[] {
  const told = new Set<string>();
  return check.problems.flatMap(({ code, message, fix }): ShownProblem[] => {
    const own = messages.domains.check.problems[code];
    if (own === undefined)
      return [
        {
          text: sentence(message, "en"),
          fix: fix === null ? "" : sentence(fix, "en"),
          isEnglish: true,
        },
      ];
    // The API has a problem for each name server; one text names all of them.
    if (told.has(code)) return [];
    told.add(code);
    return [{ ...own(factsOf(domain, check, stateOf[code])), isEnglish: false }];
  });
}

function factsOf(domain: Schemas["Domain"], check: Check, state: ServerState | undefined): CheckFacts {
  const { missing, foreign, ds } = check.delegation;
  return {
    name: domain.unicode_name,
    nameServers: domain.name_servers.join(", "),
    missing: missing.join(", "),
    foreign: foreign.join(", "),
    servers: check.name_servers
      .filter((server) => server.state === state)
      .map(({ name, address }) => `${name} (${address})`),
    ds: domain.dnssec.ds,
    parentDs: ds,
  };
}
