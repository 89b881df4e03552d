import type { Schemas } from "@kule/contract/schemas";
import { isRecordType } from "./record-query.ts";

export type RecordKey = Pick<Schemas["RecordSet"], "name" | "type">;

/** A record set as a checkbox names it: `A/www`. */
export const recordKey = ({ name, type }: RecordKey): string => `${type}/${name}`;

/** The record set that a checkbox names; null for another text. */
export function readRecordKey(text: string): RecordKey | null {
  const at = text.indexOf("/");
  const [type, name] = [text.slice(0, at), text.slice(at + 1)];
  return isRecordType(type) && name !== "" ? { name, type } : null;
}

/** As pages name it: `www A`. */
export const recordTitle = ({ name, type }: RecordKey): string => `${name} ${type}`;
