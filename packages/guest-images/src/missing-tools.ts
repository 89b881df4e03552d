import { access, constants, readdir } from "node:fs/promises";
import { delimiter, join } from "node:path";

/** The programs that make an image, and the Debian package that contains them. */
const NEEDED = [
  { program: "mmdebstrap", package: "mmdebstrap" },
  { program: "tar", package: "tar" },
  { program: "flock", package: "util-linux" },
  { program: "nsenter", package: "util-linux" },
  { program: "unshare", package: "util-linux" },
] as const;

/** The programs that make a disk image of a recipe. libguestfs boots a kernel of this machine for it. */
const NEEDED_FOR_DISKS = [
  { program: "mmdebstrap", package: "mmdebstrap" },
  { program: "guestfish", package: "libguestfs-tools" },
  { program: "virt-customize", package: "libguestfs-tools" },
  { program: "qemu-img", package: "qemu-utils" },
  { program: "qemu-system-x86_64", package: "qemu-system-x86" },
] as const;

/** Why this machine cannot make disk images, without a full stop; undefined when it can. */
export async function cannotBuildDisks(env: NodeJS.ProcessEnv = process.env): Promise<string | undefined> {
  const missing = cannotHere() ?? (await missingPrograms(NEEDED_FOR_DISKS, env));
  if (missing !== undefined) return missing;
  const isKernelThere = (await readdir("/boot").catch(() => [])).some((name) => name.startsWith("vmlinuz-"));
  return isKernelThere
    ? undefined
    : "libguestfs needs a kernel in /boot; on Debian: apt-get install linux-image-amd64";
}

/** Why this machine cannot make images, without a full stop; undefined when it can. */
export async function cannotBuild(env: NodeJS.ProcessEnv = process.env): Promise<string | undefined> {
  return cannotHere() ?? (await missingPrograms(NEEDED, env));
}

function cannotHere(): string | undefined {
  if (process.platform !== "linux") return "it needs Linux";
  return process.getuid?.() === 0 ? undefined : "it needs root";
}

/** Which of the programs are not installed, and how to install them; undefined when all are. */
export async function missingPrograms(
  needed: readonly { readonly program: string; readonly package: string }[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<string | undefined> {
  const folders = (env.PATH ?? "").split(delimiter);
  const isThere = async (program: string): Promise<boolean> => {
    const found = folders.map((folder) =>
      access(join(folder, program), constants.X_OK).then(
        () => true,
        () => false,
      ),
    );
    return (await Promise.all(found)).includes(true);
  };
  const present = await Promise.all(needed.map(({ program }) => isThere(program)));
  const missing = needed.filter((_, index) => present[index] !== true);
  if (missing.length === 0) return undefined;
  const packages = [...new Set(missing.map((one) => one.package))];
  return `${missing.map(({ program }) => program).join(", ")} ${missing.length === 1 ? "is" : "are"} not installed; on Debian or Ubuntu: apt-get install ${packages.join(" ")}`;
}
