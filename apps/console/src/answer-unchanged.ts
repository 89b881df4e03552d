import { createMiddleware } from "hono/factory";
import { AnswersSeen } from "./answers-seen.ts";
import type { ConsoleEnv } from "./console-context.ts";

/** At most so long a browser keeps a page's part, for what a page derives from the time. */
const oldestMilliseconds = 60_000;

/**
 * Answers a poll with 304 when the page would say what the browser has: its script sends the tag of the last answer, or
 * a tag that no answer has with its first poll.
 */
export const answerUnchanged = createMiddleware<ConsoleEnv>(async (context, next) => {
  const known = context.req.header("if-none-match");
  const isPoll =
    context.req.method === "GET" && context.req.header("hx-request") === "true" && known !== undefined;
  const seen = isPoll ? new AnswersSeen(context.get("sendToApi")) : null;
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
