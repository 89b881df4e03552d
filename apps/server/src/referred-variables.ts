import { secretVariablesOfAcme } from "@kule/region-config/acme-file";
import { secretVariablesOfDns } from "@kule/region-config/dns-file";
import { secretVariablesOfMail } from "@kule/region-config/mail-file";
import { secretVariablesOf as secretVariablesOfOidc } from "@kule/region-config/oidc-file";
import { RegionFileError } from "@kule/region-config/region-file-error";
import type { Program } from "./programs.ts";
import type { Variable } from "./variables.ts";

const files: readonly {
  readonly named: string;
  readonly secretsOf: (path: string) => readonly string[];
  /** The programs that need the secrets. */
  readonly readBy: readonly Program[];
}[] = [
  { named: "KULE_OIDC_FILE", secretsOf: secretVariablesOfOidc, readBy: ["api", "worker", "doctor"] },
  { named: "KULE_MAIL_FILE", secretsOf: secretVariablesOfMail, readBy: ["worker", "doctor"] },
  { named: "KULE_DNS_FILE", secretsOf: secretVariablesOfDns, readBy: ["worker", "doctor"] },
  { named: "KULE_ACME_FILE", secretsOf: secretVariablesOfAcme, readBy: ["worker", "doctor"] },
];

/**
 * The secrets whose variables other files of operators name, such as `password_env` of the mail server's.
 *
 * @param pathOf the path that a variable has, or null
 * @returns `isComplete`: false when one of these files cannot be read by this program, which need not be able to
 * @throws RegionFileError for a file that the program needs
 */
export function referredVariables(
  program: Program,
  pathOf: (name: string) => string | null,
): { readonly variables: Readonly<Record<string, Variable>>; readonly isComplete: boolean } {
  const variables: Record<string, Variable> = {};
  let isComplete = true;
  for (const { named, secretsOf, readBy } of files) {
    const path = pathOf(named);
    if (path === null) continue;
    try {
      for (const name of secretsOf(path)) variables[name] = { readBy, kind: "secret" };
    } catch (error) {
      if (!(error instanceof RegionFileError)) throw error;
      // The doctor reports it with everything else.
      if (readBy.includes(program) && program !== "doctor") throw error;
      isComplete = false;
    }
  }
  return { variables, isComplete };
}
