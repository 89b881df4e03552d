import { fileChanges } from "@kule/rules/domains/file-changes";
import { readZoneFile, type ZoneFileProblem } from "@kule/rules/domains/read-zone-file";
import type { RecordSet, Zone } from "@kule/rules/domains/record-set";
import type { ApiRequest } from "../../platform/api-request.ts";
import type { Tx } from "../../platform/database.ts";
import { fieldError, Invalid } from "../../platform/errors.ts";
import type { Outcome } from "../../platform/mutation.ts";
import { recordChangesReply } from "./record-changes-reply.ts";
import { recordSetsOf, toRecordSet } from "./record-store.ts";
import type { DomainRow } from "./store.ts";
import { codeOf, inWords, writeChanges, zoneOf } from "./write-changes.ts";

/** Takes the record sets of a zone file, all or none. */
export async function importZoneFile(
  request: ApiRequest<"importZoneFile">,
  tx: Tx,
  found: DomainRow,
): Promise<Outcome> {
  const { zone_file: text, mode = "merge" } = request.body;
  const written = await writeChanges(
    request,
    tx,
    found,
    async (domain) => {
      const file = recordSetsOfFile(text, zoneOf(domain));
      const present = mode === "merge" ? [] : (await recordSetsOf(tx, domain, null)).map(toRecordSet);
      return fileChanges(file, present, mode);
    },
    // What is wrong beside the record sets that the domain has; the file itself was in order.
    { pointerOf: ({ name, type }) => `/zone_file/${name}/${type}`, checksDomain: true },
  );
  return { reply: await recordChangesReply(request, tx, written), resource: found.id, details: { mode } };
}

/** @throws Invalid with the lines of the file that are wrong */
export function recordSetsOfFile(text: string, zone: Zone): readonly RecordSet[] {
  const reading = readZoneFile(text, zone);
  if (reading.ok) return reading.recordSets;
  throw new Invalid(reading.problems.map(fileError), "validation_failed", reading.moreProblems);
}

/** The line is in the pointer too: a place is told once. */
function fileError(problem: ZoneFileProblem) {
  const about = [problem.name, problem.type].filter((part) => part !== null).join(" ");
  const words = `line ${problem.line}${about === "" ? "" : ` (${about})`}: ${inWords(problem)}`;
  return { ...fieldError(`/zone_file/${problem.line}`, codeOf(problem.rule), words), field: "zone_file" };
}
