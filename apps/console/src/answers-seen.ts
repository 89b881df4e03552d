import { createHash } from "node:crypto";
import { createMiddleware } from "hono/factory";
import type { ConsoleEnv } from "./console-context.ts";

/** At most so long a browser keeps a page's part, for what a page derives from the time. */
const oldestMilliseconds = 60_000;

/**
 * The answers of the API that a page is made of. A page holds random values, such as its forms' tokens, so two of its
 * answers are never equal: but with the same answers of the API it says the same.
 */
export class AnswersSeen {
  readonly #answers: string[] = [];

  /** Sends the request and notes the answer. */
  readonly send = async (request: Request): Promise<Response> => {
    const response = await fetch(request);
    const body = Buffer.from(await response.arrayBuffer());
    const digest = createHash("sha256").update(body).digest("base64url");
    this.#answers.push(`${request.method} ${request.url} ${response.status} ${digest}`);
    return new Response(body.length === 0 ? null : body, response);
  };

  /**
   * A weak entity tag of a page of these answers, whose order does not count.
   *
   * @param facts everything else that the page depends on
   */
  tag(facts: readonly string[]): string {
    const hash = createHash("sha256").update(JSON.stringify([facts, this.#answers.toSorted()]));
    return `W/"${hash.digest("base64url").slice(0, 22)}"`;
  }
}

/**
 * Answers a poll with 304 when the page would say what the browser has: its script sends the tag of the last answer, or
 * a tag that no answer has with its first poll.
 */
export const answerUnchanged = createMiddleware<ConsoleEnv>(async (context, next) => {
  const known = context.req.header("if-none-match");
  const isPoll =
    context.req.method === "GET" && context.req.header("hx-request") === "true" && known !== undefined;
  const seen = isPoll ? new AnswersSeen() : null;
  context.set("answersSeen", seen);
  await next();
  if (seen === null || context.res.status !== 200) return;
  const { view, session } = context.var;
  const tag = seen.tag([
    view.path,
    view.language,
    view.theme,
    JSON.stringify(view.lists),
    view.assets.scriptPath,
    JSON.stringify(session),
    String(Math.floor(view.now.getTime() / oldestMilliseconds)),
  ]);
  if (tag === known) context.res = new Response(null, { status: 304 });
  context.header("etag", tag);
});
