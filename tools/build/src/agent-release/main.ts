import { resolve } from "node:path";
import { parseArgs } from "node:util";
import { addRelease, makeFirstKeys, rotateKeys } from "./release-folder.ts";

const usage = `Usage: npm run agent-release -- <command> [options]

  keygen --key FILE [--key FILE] --keys FILE
      make private keys (mode 0600: keep them off this machine), and the file of their public halves that builds are given:
      npm run agent-binary -- --release-keys FILE

  sign --version X.Y.Z --key FILE [--key FILE] --releases DIR [--binaries DIR] [--channel stable|candidate] [--days 90]
       [--minimum-previous X.Y.Z] [--rollback-to]
      sign the binaries of this version (default: those of dist/agent) and put them into the folder that the control plane
      serves (KULE_AGENT_RELEASES). Agents refuse it after so many days. --rollback-to: agents may go back to it from a newer one

  rotate --key FILE [--key FILE] --new-key FILE [--new-key FILE] --keys FILE --releases DIR
      make the keys of the next generation, sign them with those of the one before, and change both files. Agents that know the
      new ones take nothing from the old ones any more
`;

const root = resolve(import.meta.dirname, "../../../..");

type Values = Readonly<Record<string, string | boolean | string[] | undefined>>;

function need(values: Values, name: string): string {
  const value = values[name];
  if (typeof value !== "string") throw new Error(`--${name} is missing`);
  return value;
}

function several(values: Values, name: string): string[] {
  const value = values[name];
  if (!Array.isArray(value) || value.length === 0) throw new Error(`--${name} is missing`);
  return value;
}

function channelOf(text: string): "stable" | "candidate" {
  if (text !== "stable" && text !== "candidate") throw new Error("--channel is stable or candidate");
  return text;
}

function daysOf(text: string): number {
  const days = Number(text);
  if (!Number.isInteger(days) || days < 1 || days > 3650) throw new Error("--days is a whole number of days");
  return days;
}

function main(args: string[]): string {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      key: { type: "string", multiple: true },
      "new-key": { type: "string", multiple: true },
      keys: { type: "string" },
      version: { type: "string" },
      releases: { type: "string" },
      binaries: { type: "string", default: resolve(root, "dist/agent") },
      channel: { type: "string", default: "stable" },
      days: { type: "string", default: "90" },
      "minimum-previous": { type: "string", default: "0.0.0" },
      "rollback-to": { type: "boolean", default: false },
      help: { type: "boolean", default: false },
    },
  });
  if (values.help) return usage;
  const [command, ...others] = positionals;
  if (others.length > 0) throw new Error(`there is no meaning in ${others.join(" ")}`);
  switch (command) {
    case "keygen": {
      const { keys } = makeFirstKeys(several(values, "key"), need(values, "keys"));
      return `generation 1: ${keys.length} keys\n`;
    }
    case "sign":
      return `${addRelease({
        version: need(values, "version"),
        keyFiles: several(values, "key"),
        binaries: values.binaries,
        releases: need(values, "releases"),
        channel: channelOf(values.channel),
        minimumPreviousVersion: values["minimum-previous"],
        rollbackTo: values["rollback-to"],
        days: daysOf(values.days),
        now: new Date(),
      })}\n`;
    case "rotate": {
      const { generation } = rotateKeys(
        several(values, "key"),
        several(values, "new-key"),
        need(values, "keys"),
        need(values, "releases"),
      );
      return `generation ${generation} follows\n`;
    }
    default:
      throw new Error("there are the commands keygen, sign and rotate");
  }
}

try {
  process.stdout.write(main(process.argv.slice(2)));
} catch (error) {
  console.error(`${(error as Error).message}\n\n${usage}`);
  process.exitCode = 1;
}
