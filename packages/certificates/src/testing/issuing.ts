// The way to a certificate as steps of which each can be repeated, with what a worker would keep in between.

import type { KeyObject } from "node:crypto";
import { createServer } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { type AcmeAccount, openAccount } from "../acme/account.ts";
import { keyThumbprint } from "../acme/account-key.ts";
import type { AcmeClient } from "../acme/acme-client.ts";
import { type AcmeAuthorization, answerChallenge, readAuthorization } from "../acme/authorization.ts";
import { CHALLENGE_PATH, type ChallengeType, challengeText } from "../acme/challenge-values.ts";
import { downloadCertificate } from "../acme/issued-certificate.ts";
import { type AcmeOrder, createOrder, finalizeOrder, readOrder } from "../acme/order.ts";
import type { CertificateFacts } from "../certificate-facts.ts";

export interface Issuing {
  readonly names: readonly string[];
  readonly type: ChallengeType;
  readonly csrDer: Buffer;
  account?: AcmeAccount;
  order?: AcmeOrder;
  facts?: CertificateFacts;
}

export type Step = (client: AcmeClient, key: KeyObject, kept: Issuing) => Promise<void>;

/** Puts the answers where the CA looks for them; for http-01 nothing has to be done. */
export type Prove = (authorizations: readonly AcmeAuthorization[]) => Promise<void>;

export function stepsOf(prove: Prove): readonly (readonly [name: string, step: Step])[] {
  return [
    [
      "account",
      async (client, key, kept) => {
        kept.account = await openAccount(client, key, { contactEmails: [], agreesToTerms: true });
      },
    ],
    [
      "order",
      async (client, _, kept) => {
        kept.order = await createOrder(client, accountOf(kept), { names: kept.names });
      },
    ],
    [
      "answer",
      async (client, _, kept) => {
        const account = accountOf(kept);
        const authorizations: AcmeAuthorization[] = [];
        for (const url of orderOf(kept).authorizationUrls)
          authorizations.push(await readAuthorization(client, account, url));
        await prove(authorizations);
        for (const { url } of authorizations) await answerChallenge(client, account, url, kept.type);
      },
    ],
    ["proven", (client, _, kept) => lookUntil(client, kept, (status) => status !== "pending")],
    [
      "finalize",
      async (client, _, kept) => {
        kept.order = await finalizeOrder(client, accountOf(kept), orderOf(kept).url, kept.csrDer);
      },
    ],
    ["issued", (client, _, kept) => lookUntil(client, kept, (status) => status !== "processing")],
    [
      "download",
      async (client, _, kept) => {
        const url = orderOf(kept).certificateUrl;
        if (url === null) throw new Error(`the order is ${orderOf(kept).status}`);
        kept.facts = await downloadCertificate(client, accountOf(kept), url, kept.csrDer);
      },
    ],
  ];
}

export function accountOf({ account }: Issuing): AcmeAccount {
  if (account === undefined) throw new Error("there is no account yet");
  return account;
}

export function orderOf({ order }: Issuing): AcmeOrder {
  if (order === undefined) throw new Error("there is no order yet");
  return order;
}

async function lookUntil(
  client: AcmeClient,
  kept: Issuing,
  isDone: (status: AcmeOrder["status"]) => boolean,
): Promise<void> {
  for (;;) {
    kept.order = await readOrder(client, accountOf(kept), orderOf(kept).url);
    if (isDone(kept.order.status)) return;
    await delay(20);
  }
}

/** What a load balancer does on port 80: one text for all tokens. */
export async function answerStateless(port: number, key: KeyObject): Promise<{ close(): Promise<void> }> {
  const thumbprint = keyThumbprint(key);
  const server = createServer(({ url = "" }, response) => {
    if (!url.startsWith(CHALLENGE_PATH)) return void response.writeHead(404).end();
    response.end(challengeText(url.slice(CHALLENGE_PATH.length), thumbprint));
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    close: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
