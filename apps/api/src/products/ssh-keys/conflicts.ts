import { type Conflict, conflict } from "../../platform/errors.ts";

export function nameTaken(name: string, holder: string | null): Conflict {
  return conflict(
    "name_taken",
    "ssh_key_name_free",
    `an SSH key named ${JSON.stringify(name)} already exists`,
    {
      resource: holder,
      fix: holder === null ? null : `take another name, or DELETE /ssh-keys/${holder}`,
    },
  );
}

export function duplicateKey(holder: string | null): Conflict {
  return conflict("duplicate_key", "ssh_key_new", "this public key is already there", {
    resource: holder,
    fix: holder === null ? null : `use ${holder}`,
  });
}
