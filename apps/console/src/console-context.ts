import type { ApiClient } from "@kule/contract/client";
import type { Context } from "hono";
import type { AnswersSeen } from "./answers-seen.ts";
import type { Assets } from "./assets.ts";
import type { View } from "./layout/view.ts";
import type { ConsoleMetrics } from "./metrics.ts";
import type { JobStreams } from "./products/jobs/streams.ts";
import type { Cookies, Session } from "./session.ts";
import type { ConsoleSettings } from "./settings.ts";
import type { Stop } from "./stop.ts";

/** What lives as long as the process. Another replica of the console needs none of this state. */
export type ConsoleServices = {
  readonly settings: Pick<
    ConsoleSettings,
    "apiUrl" | "shownApiUrl" | "socketOrigin" | "publicUrl" | "visitorKey" | "trustedProxies"
  >;
  readonly cookies: Cookies;
  readonly assets: Assets;
  readonly jobStreams: JobStreams;
  readonly metrics: ConsoleMetrics;
  /** How the process ends. */
  readonly stop?: Pick<Stop, "hasBegun" | "ending">;
};

/** What every handler finds in its context. */
export type ConsoleEnv = {
  Variables: {
    requestId: string;
    /** Sends a request to the API, and counts it. */
    sendToApi: (request: Request) => Promise<Response>;
    view: View;
    session: Session | null;
    /** Base of the tokens in this visitor's forms. */
    formSecret: string;
    /** The nonce of this answer: its policy runs only elements that carry it. Set by hono's secureHeaders. */
    secureHeadersNonce?: string;
    /** The extra sources that a page with a terminal may connect to. */
    socketOrigin?: string;
    /** Acts as the session's user. */
    api: ApiClient;
    /** What the API has answered to a poll; null for every other request. */
    answersSeen: AnswersSeen | null;
    /** The posted fields of a form whose token held. */
    form: URLSearchParams;
  };
};

export type ConsoleContext = Context<ConsoleEnv>;

/** The session of a page that only signed-in people reach. */
export function sessionOf(context: ConsoleContext): Session {
  const session = context.get("session");
  if (session === null) throw new Error(`${context.req.path} was reached without a session`);
  return session;
}

/** The key that separates the streams of one organisation from another's. */
export function streamScope(session: Session): string {
  return session.organisation?.id ?? `token ${session.formSecret}`;
}

/** The notice that an address names, from a closed list of texts. */
export function noticeOf(context: ConsoleContext, notices: Readonly<Record<string, string>>): string | null {
  const name = context.req.query("notice");
  return name !== undefined && Object.hasOwn(notices, name) ? (notices[name] ?? null) : null;
}
