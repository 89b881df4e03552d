import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";

/** The programs that make an image, and the Debian package that contains them. */
const NEEDED = [
  { program: "mmdebstrap", package: "mmdebstrap" },
  { program: "tar", package: "tar" },
  { program: "flock", package: "util-linux" },
  { program: "nsenter", package: "util-linux" },
  { program: "unshare", package: "util-linux" },
] as const;

/** Why this machine cannot make images, without a full stop; undefined when it can. */
export async function cannotBuild(env: NodeJS.ProcessEnv = process.env): Promise<string | undefined> {
  if (process.platform !== "linux") return "it needs Linux";
  if (process.getuid?.() !== 0) return "it needs root";
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
  const present = await Promise.all(NEEDED.map(({ program }) => isThere(program)));
  const missing = NEEDED.filter((_, index) => present[index] !== true);
  if (missing.length === 0) return undefined;
  const packages = [...new Set(missing.map((one) => one.package))];
  return `${missing.map(({ program }) => program).join(", ")} ${missing.length === 1 ? "is" : "are"} not installed; on Debian or Ubuntu: apt-get install ${packages.join(" ")}`;
}
