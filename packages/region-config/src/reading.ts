import { resolve } from "node:path";
import { RegionFileError, type RegionFileFinding } from "./region-file-error.ts";
import { nameOf } from "./schema-findings.ts";
import { Secret } from "./secret.ts";
import { type Environment, secretFromEnvironment, secretFromFile } from "./secret-references.ts";
import type { KeyPath, YamlSource } from "./yaml-source.ts";

/** For a file that is going to be refused; it only takes the place of the secret. */
export const nothing = new Secret("", "nowhere");

/** Reads the values of a checked document; collects errors instead of stopping at the first. */
export class Reading {
  readonly findings: RegionFileFinding[] = [];
  readonly #source: YamlSource;
  readonly #folder: string;
  readonly #environment: Environment;

  constructor(source: YamlSource, folder: string, environment: Environment) {
    this.#source = source;
    this.#folder = folder;
    this.#environment = environment;
  }

  find(path: KeyPath, message: string, fix: string): void {
    this.findings.push({ ...this.#source.placeOfValue(path), key: nameOf(path), message, fix });
  }

  fullPath(path: string): string {
    return resolve(this.#folder, path);
  }

  /** The secret in a variable or a file that the key at the path names; null after saying why there is none. */
  referredSecret(
    path: KeyPath,
    to: { readonly variable: string } | { readonly file: string },
  ): Secret | null {
    const found =
      "file" in to
        ? secretFromFile(to.file, this.#folder)
        : secretFromEnvironment(to.variable, this.#environment);
    if (!("message" in found)) return found.value;
    this.find(path, found.message, found.fix);
    return null;
  }

  /** @throws RegionFileError with all that was found, if anything was */
  refuse(path: string): void {
    if (this.findings.length > 0) throw RegionFileError.inOrder(path, this.findings);
  }
}
