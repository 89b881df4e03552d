// The state of an appliance as one text: what kule-state in the guest (infra/images/guest-state) unpacks and applies.

import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";
import { createTar } from "nanotar";
import { Bug } from "../errors.ts";

export type GuestFile = {
  /** Below the state's own directory, such as "haproxy/haproxy.cfg". */
  readonly path: string;
  /** Permissions; whatever may hold a secret has 0o600. */
  readonly mode: number;
  readonly content: string | Uint8Array;
};

export type GuestUnit = {
  /** Such as "haproxy.service". */
  readonly name: string;
  /** What makes it use the new files. One that does not run yet is started in either case. */
  readonly change: "reload" | "restart";
};

/**
 * Everything that an appliance is to be. Programs run in the directory of the files, by /bin/sh, so they name files by
 * relative paths; a unit names them below /var/lib/kule-state/current/files.
 */
export type GuestState = {
  /** Grows with every change: a guest never goes back to an older one. */
  readonly generation: number;
  readonly files: readonly GuestFile[];
  /** Must succeed before the state becomes current, such as `haproxy -c -f haproxy/haproxy.cfg`. */
  readonly validate: readonly string[] | null;
  readonly units: readonly GuestUnit[];
  /** Succeeds when the state is in force; run at each look, within 15 s. It prints no secrets. */
  readonly check: readonly string[];
};

/** A state as it is sent. */
export type Bundle = {
  readonly generation: number;
  /** Of the tar file, in hexadecimal. */
  readonly sha256: string;
  /** The gzipped tar file in base64. */
  readonly text: string;
};

/** As the script in the guest limits it; what is larger would be refused there. */
const MOST_CHARACTERS = 8 * 1024 * 1024;
/** A tar header has room for 100 characters. */
const MOST_PATH = 90;
const PATH = /^[A-Za-z0-9_@][A-Za-z0-9._@-]*(\/[A-Za-z0-9_@][A-Za-z0-9._@-]*)*$/;
const UNIT = /^[A-Za-z0-9_@-][A-Za-z0-9._@-]*\.(service|socket|timer|target)$/;

/**
 * The same state gives the same digest, whoever renders it.
 *
 * @throws Bug for a path, unit or size that the guest would refuse
 */
export function renderBundle(state: GuestState): Bundle {
  const tar = tarOf(filesOf(state));
  const text = gzipSync(tar, { level: 9 }).toString("base64");
  if (text.length > MOST_CHARACTERS)
    throw new Bug(`a guest's state has ${text.length} characters, more than ${MOST_CHARACTERS}`);
  const sha256 = createHash("sha256").update(tar).digest("hex");
  return { generation: state.generation, sha256, text };
}

/** The bundle's name in the guest. */
export const bundleName = ({ generation, sha256 }: Pick<Bundle, "generation" | "sha256">): string =>
  `${generation}-${sha256}`;

function filesOf({ files, validate, units, check }: GuestState): GuestFile[] {
  const programs = [
    ...(validate === null ? [] : [{ path: "validate", content: programOf([validate]) }]),
    { path: "activate", content: programOf(units.flatMap(commandsOf)) },
    { path: "check", content: programOf([check]) },
  ];
  for (const { path } of files)
    if (path.length > MOST_PATH || !PATH.test(path)) throw new Bug(`${path} is no path of a guest's state`);
  return [
    ...files
      .map((file) => ({ ...file, path: `files/${file.path}` }))
      .toSorted((one, other) => (one.path < other.path ? -1 : 1)),
    ...programs.map((program) => ({ ...program, mode: 0o700 })),
  ];
}

function commandsOf({ name, change }: GuestUnit): (readonly string[])[] {
  if (!UNIT.test(name)) throw new Bug(`${name} is no name of a unit`);
  const apply = change === "reload" ? "reload-or-restart" : "restart";
  return [
    ["systemctl", "enable", "--quiet", name],
    ["systemctl", apply, name],
  ];
}

function programOf(commands: readonly (readonly string[])[]): string {
  return ["set -eu", ...commands.map((argv) => argv.map(quoted).join(" ")), ""].join("\n");
}

/** One argument for /bin/sh, whatever it contains. */
const quoted = (argument: string): string => `'${argument.replaceAll("'", `'\\''`)}'`;

/** The same bytes for the same files: nothing of this machine or of the time is in it. */
function tarOf(files: readonly GuestFile[]): Uint8Array {
  return createTar(
    files.map(({ path, mode, content }) => ({
      name: path,
      data: typeof content === "string" ? Buffer.from(content) : content,
      attrs: { mode: mode.toString(8), mtime: 1, uid: 0, gid: 0, user: "root", group: "root" },
    })),
  );
}
