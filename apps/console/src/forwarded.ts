import { getConnInfo } from "@hono/node-server/conninfo";
import type { ConsoleContext } from "./console-context.ts";

/** Who is behind this console: for the API's limit on failed sign-ins, and for the person's list of sessions. */
export function forwarded(context: ConsoleContext): Record<string, string> {
  const device = { "user-agent": context.req.header("user-agent") ?? "" };
  try {
    const { address } = getConnInfo(context).remote;
    return address === undefined ? device : { ...device, "x-forwarded-for": address };
  } catch {
    // Not behind a socket: in-process requests of tests.
    return device;
  }
}
