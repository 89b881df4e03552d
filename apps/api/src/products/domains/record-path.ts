import { readRecordName } from "@kule/rules/domains/record-name";
import { type RecordType, readRecordType } from "@kule/rules/domains/record-types";
import type { ApiRequest } from "../../platform/api-request.ts";
import { fieldError, Invalid } from "../../platform/errors.ts";
import { codeOf, inWords } from "./write-changes.ts";

export type RecordPath = { readonly name: string; readonly type: RecordType };

/** Name and type in the path; null when there can be no such record set, which reads like one that does not exist. */
export function readRecordPath(request: ApiRequest, zone: string): RecordPath | null {
  const name = readRecordName(request.pathText("record_name"), zone);
  const type = readRecordType(request.pathText("record_type"));
  return name.ok && type.ok ? { name: name.name, type: type.value } : null;
}

/** For what writes. @throws Invalid with what is wrong with them */
export function requireRecordPath(request: ApiRequest, zone: string): RecordPath {
  const name = readRecordName(request.pathText("record_name"), zone);
  const type = readRecordType(request.pathText("record_type"));
  if (name.ok && type.ok) return { name: name.name, type: type.value };
  throw new Invalid([
    ...(name.ok ? [] : [fieldError("record_name", codeOf(name.problem.rule), inWords(name.problem))]),
    ...(type.ok ? [] : [fieldError("record_type", codeOf(type.flaw.rule), inWords(type.flaw))]),
  ]);
}
