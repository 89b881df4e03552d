import type { ConsoleContext } from "../../console-context.ts";
import { postedKey } from "../../posted-form.ts";

/** The parameters of a call for a posted form of a server's page. */
export function requestOptions(context: ConsoleContext, id: string) {
  return {
    params: { path: { server_id: id }, header: { "Idempotency-Key": postedKey(context) } },
  };
}
