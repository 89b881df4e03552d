import type { Schemas } from "@kule/contract/schemas";
import { attempt, type Outcome, readOrNull } from "../../api.ts";
import type { ConsoleContext } from "../../console-context.ts";
import { changeOptions, domainIds } from "./read-tab.ts";
import { type RecordValues, recordBody } from "./record-values.ts";

/**
 * Sends the form of a record set. Another name or type is a deletion and a new record set in one change of the zone, so
 * that there is never a moment with neither of them.
 *
 * @param edited what the form was opened for, as it was then; null for a new one, which replaces none
 */
export async function sendRecord(
  context: ConsoleContext,
  values: RecordValues,
  edited: { readonly name: string; readonly type: Schemas["RecordType"]; readonly etag: string } | null,
): Promise<Outcome<unknown>> {
  const api = context.get("api");
  const { path, header } = changeOptions(context);
  // An empty name is the domain itself.
  const name = values.name === "" ? "@" : values.name;
  const type = values.type as Schemas["RecordType"];
  const body = recordBody(values);
  if (edited !== null && (edited.name !== name || edited.type !== type)) {
    const { managed_by } = (await readOrNull(
      api.GET("/domains/{domain_id}/records/{record_name}/{record_type}", {
        params: { path: { ...domainIds(context), record_name: edited.name, record_type: edited.type } },
      }),
    )) ?? { managed_by: null };
    return attempt(
      api.POST("/domains/{domain_id}/changes", {
        params: { path, header },
        body: {
          changes: [
            { op: "delete", name: edited.name, type: edited.type, if_match: edited.etag },
            { op: "upsert", name, type, ...body, managed_by, if_none_match: "*" },
          ],
        },
      }),
    );
  }
  const condition = edited === null ? { "If-None-Match": "*" as const } : { "If-Match": edited.etag };
  return attempt(
    api.PUT("/domains/{domain_id}/records/{record_name}/{record_type}", {
      params: {
        path: { ...path, record_name: name, record_type: type },
        header: { ...header, ...condition },
      },
      body,
    }),
  );
}
