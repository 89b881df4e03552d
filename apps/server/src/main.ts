#!/usr/bin/env node
import { existsSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { RegionFileError } from "@kule/region-config/region-file-error";
import { textOf } from "@kule/region-config/secret-references";
import { type Call, HELP, parseCall, standardConfiguration } from "./command-line.ts";
import { readEntries } from "./configuration-file.ts";
import { type Configuration, EnvironmentError, processSettings } from "./process-settings.ts";
import { startOf } from "./programs.ts";
import { SERVER_VERSION } from "./version.ts";

const EXIT_USAGE = 2;
/** EX_CONFIG of sysexits.h: starting again would not help, and the systemd units do not. */
const EXIT_CONFIG = 78;

/** Where doctor finds out which file it judges. */
const configurationVariable = "KULE_SERVER_CONFIGURATION";

async function main(args: readonly string[]): Promise<void> {
  const call = parseCall(args);
  if (call.kind === "help") return void process.stdout.write(HELP);
  if (call.kind === "version") return void process.stdout.write(`${SERVER_VERSION}\n`);
  if (call.kind === "wrong") {
    process.stderr.write(`${call.message}\n\n${HELP}`);
    process.exitCode = EXIT_USAGE;
    return;
  }
  if (!prepare(call)) {
    process.exitCode = EXIT_CONFIG;
    return;
  }
  // A user that exists while its service runs, or in a container, may be in no list of accounts: asking for its home fails without this.
  process.env.HOME ||= "/";
  const { file, args: own } = startOf(call.program, call.options);
  // The program sees the arguments that it would have as a process of its own.
  process.argv.splice(1, process.argv.length, file, ...own);
  await import(pathToFileURL(file).href);
}

/** Makes this process' environment that of the program. @returns false when that cannot be: the reason is printed */
function prepare(call: Extract<Call, { kind: "start" }>): boolean {
  try {
    const configuration = readConfiguration(call.configuration);
    const { set, unset } = processSettings(call.program, configuration, process.env);
    for (const name of unset) delete process.env[name];
    Object.assign(process.env, set);
    if (call.program === "doctor" && configuration !== null)
      process.env[configurationVariable] = configuration.path;
    return true;
  } catch (error) {
    if (!(error instanceof RegionFileError || error instanceof EnvironmentError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return false;
  }
}

function readConfiguration(path: string | null): Configuration | null {
  const file = path ?? standardConfiguration;
  if (path === null && !existsSync(file)) return null;
  const text = textOf(file);
  if ("message" in text)
    throw new RegionFileError(file, [
      { line: null, column: null, key: "", message: text.message, fix: text.fix },
    ]);
  return { path: file, entries: readEntries(text.value, file) };
}

await main(process.argv.slice(2));
