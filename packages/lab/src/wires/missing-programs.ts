import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** The programs that wires need, their output, and the Debian package that contains them. */
const needed = [
  { program: "ip", word: "-V", package: "iproute2" },
  { program: "nft", word: "--version", package: "nftables" },
  { program: "nsenter", word: "--version", package: "util-linux" },
  { program: "setpriv", word: "--version", package: "util-linux" },
] as const;

/**
 * Which programs are not installed, and what to install; undefined when all are there.
 *
 * @throws Error of an installed program that does not run
 */
export async function missingPrograms(path = process.env.PATH): Promise<string | undefined> {
  const missing: (typeof needed)[number][] = [];
  for (const one of needed)
    try {
      await promisify(execFile)(one.program, [one.word], { env: { ...process.env, PATH: path } });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
      missing.push(one);
    }
  if (missing.length === 0) return undefined;
  const packages = [...new Set(missing.map((one) => one.package))];
  const names = missing.map(({ program }) => program).join(", ");
  return `${names} ${missing.length === 1 ? "is" : "are"} not installed; on Debian or Ubuntu: apt-get install ${packages.join(" ")}`;
}
