import { duplicateKey, nameTaken } from "@kule/rules/refusals";
import { Conflict } from "../../platform/errors.ts";

export function keyNameTaken(name: string, holder: string | null): Conflict {
  return new Conflict(
    nameTaken("ssh_key_name_free", `an SSH key named ${JSON.stringify(name)} already exists`, {
      resource: holder,
      fix: holder === null ? null : `take another name, or DELETE /ssh-keys/${holder}`,
    }),
  );
}

export function keyKnown(holder: string | null): Conflict {
  return new Conflict(
    duplicateKey("ssh_key_new", "this public key is already there", {
      resource: holder,
      fix: holder === null ? null : `use ${holder}`,
    }),
  );
}
