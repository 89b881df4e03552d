import { getConnInfo } from "@hono/node-server/conninfo";
import type { ConsoleContext } from "./console-context.ts";

/** Who is behind this console, for the API's limit on failed sign-ins. */
export function forwarded(context: ConsoleContext): Record<string, string> {
  try {
    const { address } = getConnInfo(context).remote;
    return address === undefined ? {} : { "x-forwarded-for": address };
  } catch {
    // Not behind a socket: in-process requests of tests.
    return {};
  }
}
