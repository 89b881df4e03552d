import { spawn } from "node:child_process";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Recipe } from "./recipe.ts";

/**
 * The ids of guests begin here: their root is a user of the machine that owns nothing else. Above what
 * distributions assign to people, and to containers.
 */
export const FIRST_GUEST_ID = 0x7000_0000;
export const GUEST_IDS = 65_536;

/** The tools did not make a root file system; the message has the end of what they said. */
export class ImageBuildFailed extends Error {
  override name = "ImageBuildFailed";
}

/** Unpacks as the root of a user namespace, so that owners, modes and file capabilities are the guest's. */
const UNPACK = `
unshare --user sleep infinity &
keeper=$!
trap 'kill $keeper' EXIT
until [ "$(readlink /proc/$keeper/ns/user)" != "$(readlink /proc/self/ns/user)" ]; do sleep 0.02; done
echo "0 $FIRST_ID $IDS" > /proc/$keeper/uid_map
echo "0 $FIRST_ID $IDS" > /proc/$keeper/gid_map
chown "$FIRST_ID:$FIRST_ID" .
nsenter --user=/proc/$keeper/ns/user tar --extract --file=- --numeric-owner --preserve-permissions \
  --xattrs --xattrs-include='*' --exclude='./dev/*' < "$ARCHIVE"
`;

/**
 * Makes the recipe's root file system in `folder`/root. What else is written below `folder` may be deleted.
 *
 * @param say is called with each step, in words
 * @throws ImageBuildFailed
 */
export async function buildRootFileSystem(
  recipe: Recipe,
  folder: string,
  say: (step: string) => void,
  mirror?: string,
): Promise<void> {
  const archive = join(folder, "root.tar");
  const temporary = join(folder, "tmp");
  const root = join(folder, "root");
  for (const each of [temporary, root]) mkdirSync(each, { recursive: true, mode: 0o755 });
  const sources = mirror === undefined ? recipe.mirrors : [`deb ${mirror} ${recipe.suite} main`];
  const words = [
    "--mode=root",
    "--variant=minbase",
    "--format=tar",
    `--include=${recipe.packages.join(",")}`,
    `--aptopt=APT::Install-Recommends "false"`,
    // What is lost with a crash of this machine is built again.
    "--dpkgopt=force-unsafe-io",
    "--skip=output/mknod",
    ...recipe.scripts.map(
      (script) =>
        `--customize-hook=cp ${quoted(script)} "$1/tmp/customize.sh" && chroot "$1" sh /tmp/customize.sh && rm "$1/tmp/customize.sh"`,
    ),
    recipe.suite,
    archive,
    ...sources,
  ];
  await run("mmdebstrap", words, { env: { TMPDIR: temporary }, say });
  say("unpacking");
  const env = { ARCHIVE: archive, FIRST_ID: String(FIRST_GUEST_ID), IDS: String(GUEST_IDS) };
  await run("sh", ["-ec", UNPACK], { env, cwd: root, say: () => {} });
  for (const each of [archive, temporary]) rmSync(each, { recursive: true, force: true });
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const LAST_LINES = 12;

async function run(
  program: string,
  words: readonly string[],
  how: { readonly env: Record<string, string>; readonly cwd?: string; readonly say: (step: string) => void },
): Promise<void> {
  const env = { PATH: process.env.PATH, LC_ALL: "C", DEBIAN_FRONTEND: "noninteractive", ...how.env };
  const proxies = ["http_proxy", "https_proxy", "no_proxy"].flatMap((name) =>
    process.env[name] === undefined ? [] : [[name, process.env[name]] as const],
  );
  const child = spawn(program, words, {
    stdio: ["ignore", "ignore", "pipe"],
    env: { ...env, ...Object.fromEntries(proxies) },
    cwd: how.cwd,
  });
  const lines: string[] = [];
  let rest = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    const parts = (rest + text).split(/[\r\n]+/);
    rest = parts.pop() ?? "";
    for (const line of parts) {
      lines.push(line);
      if (lines.length > LAST_LINES) lines.shift();
      const step = /^I: (.+)/.exec(line)?.[1];
      if (step !== undefined) how.say(step);
    }
  });
  await new Promise<void>((resolve, reject) => {
    child.once("error", (error) => reject(new ImageBuildFailed(`${program}: ${error.message}`)));
    child.once("close", (code, signal) => {
      if (code === 0) resolve();
      else
        reject(
          new ImageBuildFailed(
            `${program} ended with ${code ?? signal}:\n${[...lines, rest].join("\n").trim()}`,
          ),
        );
    });
  });
}
