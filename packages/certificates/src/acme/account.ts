import type { KeyObject } from "node:crypto";
import type { AcmeClient } from "./acme-client.ts";
import { AcmeGone, AcmeRefused } from "./acme-error.ts";
import { asUrl, readObject, unusable, wordField } from "./answer-fields.ts";
import type { CaAnswer } from "./ca-transport.ts";
import { type AcmeSigner, bindExternalAccount, type ExternalAccount } from "./jws.ts";

/** An account that the CA has. */
export interface AcmeAccount extends AcmeSigner {
  readonly accountUrl: string;
}

export interface AccountSettings {
  /** Addresses for the CA's own mails; may be empty. */
  readonly contactEmails: readonly string[];
  /** That the operator accepts the directory's `termsOfService`. */
  readonly agreesToTerms: boolean;
  readonly external?: ExternalAccount | undefined;
}

const WHAT = "the account";

/**
 * The account of this key: made, or, where the CA has it, the one that there is; its contacts are then left as they are.
 *
 * @throws AcmeRefused with `externalAccountRequired` or `userActionRequired` and the like, or `unauthorized` for an account that
 *   was ended
 */
export async function openAccount(
  client: AcmeClient,
  key: KeyObject,
  settings: AccountSettings,
  signal?: AbortSignal,
): Promise<AcmeAccount> {
  const { newAccount } = await client.directory(signal);
  const { external } = settings;
  const answer = await client.post(
    { key, accountUrl: null },
    {
      url: newAccount,
      payload: {
        termsOfServiceAgreed: settings.agreesToTerms,
        ...(settings.contactEmails.length === 0
          ? {}
          : { contact: settings.contactEmails.map((address) => `mailto:${address}`) }),
        ...(external === undefined
          ? {}
          : { externalAccountBinding: bindExternalAccount(external, key, newAccount) }),
      },
      signal,
    },
  );
  return readAccount(answer, key);
}

/** Null when the CA has no account of this key. */
export async function findAccount(
  client: AcmeClient,
  key: KeyObject,
  signal?: AbortSignal,
): Promise<AcmeAccount | null> {
  const { newAccount } = await client.directory(signal);
  try {
    const answer = await client.post(
      { key, accountUrl: null },
      { url: newAccount, payload: { onlyReturnExisting: true }, signal },
    );
    return readAccount(answer, key);
  } catch (error) {
    if (error instanceof AcmeGone && error.what === "account") return null;
    throw error;
  }
}

function readAccount(answer: CaAnswer, key: KeyObject): AcmeAccount {
  const accountUrl = answer.header("location");
  if (accountUrl === undefined) throw unusable(WHAT, "there is no Location");
  const status = wordField(readObject(answer.text, WHAT), "status", WHAT, [
    "valid",
    "deactivated",
    "revoked",
  ]);
  if (status !== "valid")
    throw new AcmeRefused(
      { type: "unauthorized", detail: `the account is ${status}`, subproblems: [] },
      WHAT,
      answer.status,
    );
  return { key, accountUrl: asUrl(accountUrl, WHAT) };
}
