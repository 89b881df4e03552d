import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { Secret } from "./secret.ts";

export type Environment = Readonly<Record<string, string | undefined>>;
export type Resolved<Value> = { readonly value: Value } | { readonly message: string; readonly fix: string };

/** The secret in an environment variable, or why there is none. */
export function secretFromEnvironment(name: string, environment: Environment): Resolved<Secret> {
  const text = environment[name]?.trim() ?? "";
  if (text === "")
    return {
      message: `the environment variable ${name} is ${environment[name] === undefined ? "not set" : "empty"}`,
      fix: `set ${name}, for instance in the EnvironmentFile of its unit`,
    };
  return { value: new Secret(text, `environment variable ${name}`) };
}

/** The secret in a file that only its owner and group can read, or why there is none. */
export function secretFromFile(path: string, folder: string): Resolved<Secret> {
  const full = resolve(folder, path);
  const text = textOf(full);
  if ("message" in text) return text;
  // As ssh does: a secret that every account of the machine can read is not one.
  if ((statSync(full).mode & 0o007) !== 0)
    return { message: `every account of this machine can use ${full}`, fix: `chmod o= ${full}` };
  const value = text.value.trim();
  if (value === "") return { message: `${full} is empty`, fix: "write the secret into it" };
  return { value: new Secret(value, `file ${full}`) };
}

/** A file's text, or why it cannot be read. */
export function textOf(full: string): Resolved<string> {
  try {
    return { value: readFileSync(full, "utf8") };
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : null;
    if (code === "ENOENT")
      return { message: `there is no file ${full}`, fix: "correct the path, or put the file there" };
    if (code === "EACCES")
      return {
        message: `${full} may not be read`,
        fix: "give the user that it runs as permission to read it",
      };
    if (code === "EISDIR")
      return { message: `${full} is a folder`, fix: "write the path of the file inside it" };
    return { message: `${full} cannot be read (${String(code ?? error)})`, fix: "check the path" };
  }
}
