import { readMailFile } from "@kule/region-config/mail-file";
import type { Settings } from "../platform/settings.ts";
import { tryMailServer } from "../worker/mailer.ts";
import type { Environment } from "./diagnose.ts";
import { type Finding, good, wordsOf, wrong } from "./finding.ts";

const check = "mail server";
const patienceMs = 10_000;

/** Whether the mail server takes the worker's sign-in. Nothing is mailed. */
export async function checkMail({ mailFile }: Settings, environment: Environment): Promise<Finding[]> {
  if (mailFile === null) return [good(check, "none: nothing is mailed (KULE_MAIL_FILE)")];
  const server = readMailFile(mailFile, environment);
  if (typeof server === "string") return [wrong(check, server, `correct ${mailFile} (docs/mail.md)`)];
  const place = `${server.host}:${server.port}`;
  try {
    await tryMailServer(server, AbortSignal.timeout(patienceMs));
    return [
      good(check, `${place} answers${server.login === null ? "" : `, and accepts ${server.login.user}`}`),
    ];
  } catch (error) {
    return [wrong(check, `${place}: ${wordsOf(error)}`, wayOut(error, mailFile))];
  }
}

function wayOut(error: unknown, path: string): string {
  const { code = "" } = error as { readonly code?: string };
  if (code === "EAUTH") return `correct user and password of ${path}`;
  if (code === "ETLS" || /certificate|self.signed/i.test(wordsOf(error)))
    return `correct security of ${path}, or name the certificate that signs the server's in ca_file`;
  return `check host, port and security of ${path}, and that this machine may connect there`;
}
