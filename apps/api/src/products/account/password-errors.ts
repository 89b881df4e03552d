import type { FieldError } from "@kule/contract/field-errors";
import { type PasswordOwner, passwordDefect } from "@kule/rules/identity/passwords";
import { fieldError } from "../../platform/errors.ts";

/** What is wrong with a chosen password, as errors of its field. */
export function passwordErrors(pointer: string, password: string, owner: PasswordOwner): FieldError[] {
  const defect = passwordDefect(password, owner);
  if (defect === null) return [];
  if (defect === "too_short") return [fieldError(pointer, "too_short", "needs at least 12 characters")];
  const message =
    defect === "says_who_you_are"
      ? "is little more than your name or e-mail"
      : "has too few different characters";
  return [fieldError(pointer, "too_easy", message)];
}
