import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { buildArchive } from "./build-archive.ts";
import type { Recipe } from "./recipe.ts";
import { runGuestTool } from "./run-guest-tool.ts";
import { ImageBuildFailed, runTool } from "./run-tool.ts";

/** Runs in the new system when it is on its disk. */
const BOOT_FROM_DISK = resolve(import.meta.dirname, "../../../infra/images/boot-from-disk.sh");
/** Grown by cloud-init to the disk of each server. The smallest package of the catalogue has more. */
const DISK_GIB = 3;

/** BIOS boot: one partition for the boot loader, one for the system. */
const guestfishScript = (disk: string, archive: string): string => `sparse "${disk}" ${DISK_GIB}G
run
part-init /dev/sda gpt
part-add /dev/sda p 2048 4095
part-set-gpt-type /dev/sda 1 21686148-6449-6E6F-744E-656564454649
part-add /dev/sda p 4096 -2048
mkfs ext4 /dev/sda2 label:root
mount /dev/sda2 /
tar-in "${archive}" / xattrs:true
upload "${BOOT_FROM_DISK}" /boot-from-disk.sh
command "sh /boot-from-disk.sh"
rm /boot-from-disk.sh
fstrim /
umount /
`;

export type DiskImageSource = {
  /** Another mirror than the recipe's. */
  readonly mirror?: string;
  /** A cloud image of the distribution to customise, instead of a system made from its packages. */
  readonly cloudImage?: string;
};

/**
 * Makes the recipe's system into a disk image (qcow2, compressed) that boots by BIOS. What was at `target` is
 * replaced when it is done.
 *
 * @param say is called with each step, in words
 * @throws ImageBuildFailed
 */
export async function buildDiskImage(
  recipe: Recipe,
  target: string,
  say: (step: string) => void,
  source: DiskImageSource = {},
): Promise<void> {
  if (source.cloudImage === undefined && recipe.diskPackages.length === 0)
    throw new ImageBuildFailed(
      `${recipe.name}: its recipe.json has no disk_packages, so it cannot boot from a disk`,
    );
  mkdirSync(dirname(resolve(target)), { recursive: true });
  const folder = mkdtempSync(join(tmpdir(), "kule-disk-image-"));
  const env = { LIBGUESTFS_BACKEND: "direct", TMPDIR: folder };
  const disk = join(folder, "disk");
  const finished = `${target}.new`;
  try {
    if (source.cloudImage === undefined) {
      const archive = join(folder, "root.tar");
      await buildArchive(recipe, recipe.diskPackages, folder, archive, say, source.mirror);
      say("writing the disk");
      const script = join(folder, "guestfish");
      writeFileSync(script, guestfishScript(disk, archive));
      await runGuestTool("guestfish", ["--file", script], { env, say });
    } else {
      say("copying the cloud image");
      await runTool("qemu-img", ["convert", "-O", "raw", source.cloudImage, disk], { env, say });
      say("customising it");
      await runGuestTool("virt-customize", customisations(recipe, disk), { env, say });
    }
    say("compressing");
    await runTool("qemu-img", ["convert", "-c", "-O", "qcow2", disk, finished], { env, say });
    renameSync(finished, target);
  } finally {
    for (const each of [folder, finished]) rmSync(each, { recursive: true, force: true });
  }
}

/** What virt-customize does to a cloud image, in its order. */
function customisations(recipe: Recipe, disk: string): string[] {
  return [
    ...["--quiet", "--format", "raw", "--add", disk, "--install", recipe.packages.join(",")],
    ...recipe.files.flatMap(({ from, to, mode }) => [
      "--mkdir",
      dirname(to),
      "--upload",
      `${from}:${to}`,
      "--chmod",
      `${mode}:${to}`,
    ]),
    ...recipe.scripts.flatMap((script) => ["--run", script]),
  ];
}
