import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { buildArchive } from "./build-archive.ts";
import type { Recipe } from "./recipe.ts";
import { runTool } from "./run-tool.ts";

/**
 * The ids of guests begin here: their root is a user of the machine that owns nothing else. Above what
 * distributions assign to people, and to containers.
 */
export const FIRST_GUEST_ID = 0x7000_0000;
export const GUEST_IDS = 65_536;

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
  const root = join(folder, "root");
  mkdirSync(root, { recursive: true, mode: 0o755 });
  await buildArchive(recipe, [], folder, archive, say, mirror);
  say("unpacking");
  const env = { ARCHIVE: archive, FIRST_ID: String(FIRST_GUEST_ID), IDS: String(GUEST_IDS) };
  await runTool("sh", ["-ec", UNPACK], { env, cwd: root, say: () => {} });
  rmSync(archive);
}
