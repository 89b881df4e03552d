import { type AcmeProblem, type AcmeSubproblem, boundedText } from "./acme-error.ts";

const PREFIX = "urn:ietf:params:acme:error:";
const MAX_SUBPROBLEMS = 100;
const MAX_NAME_CHARACTERS = 253;

/** @returns null when the value is no problem document */
export function readProblem(value: unknown): AcmeProblem | null {
  if (value === null || typeof value !== "object") return null;
  const { type, detail, subproblems } = value as Record<string, unknown>;
  if (typeof type !== "string" && typeof detail !== "string") return null;
  const parts: readonly unknown[] = Array.isArray(subproblems) ? subproblems.slice(0, MAX_SUBPROBLEMS) : [];
  return {
    type: typeOf(type),
    detail: detailOf(detail),
    subproblems: parts.flatMap(readSubproblem),
  };
}

function readSubproblem(value: unknown): readonly AcmeSubproblem[] {
  if (value === null || typeof value !== "object") return [];
  const { type, detail, identifier } = value as Record<string, unknown>;
  const name =
    identifier !== null && typeof identifier === "object" && "value" in identifier ? identifier.value : null;
  return [
    {
      name: typeof name === "string" ? boundedText(name, MAX_NAME_CHARACTERS) : null,
      type: typeOf(type),
      detail: detailOf(detail),
    },
  ];
}

function typeOf(type: unknown): string {
  if (typeof type !== "string" || !type.startsWith(PREFIX)) return "other";
  const word = type.slice(PREFIX.length);
  return /^[A-Za-z0-9_-]{1,64}$/.test(word) ? word : "other";
}

function detailOf(detail: unknown): string {
  return typeof detail === "string" && detail !== "" ? boundedText(detail) : "the CA gives no reason";
}
