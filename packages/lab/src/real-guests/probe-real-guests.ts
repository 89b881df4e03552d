import { execFile } from "node:child_process";
import { accessSync, constants, readFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { promisify } from "node:util";
import { probeWires } from "../wires/wires.ts";
import { lacksControlGroups } from "./control-groups.ts";

/** The programs that real guests need beyond those of wires, and the Debian package that contains them. */
const NEEDED: Readonly<Record<string, string>> = {
  e2fsck: "e2fsprogs",
  losetup: "mount",
  "mkfs.ext4": "e2fsprogs",
  resize2fs: "e2fsprogs",
  socat: "socat",
  unshare: "util-linux",
};

/** Why this machine cannot run real guests; undefined when it can. */
export async function probeRealGuests(): Promise<string | undefined> {
  const wires = await probeWires();
  if (wires !== undefined) return wires;
  const missing = Object.keys(NEEDED).filter((program) => !isInstalled(program));
  if (missing.length > 0) {
    const packages = [...new Set(missing.map((program) => NEEDED[program]))];
    return `${missing.join(", ")} ${missing.length === 1 ? "is" : "are"} not installed; on Debian or Ubuntu: apt-get install ${packages.join(" ")}`;
  }
  const groups = lacksControlGroups();
  if (groups !== undefined) return groups;
  if (!/\toverlay$/m.test(readFileSync("/proc/filesystems", "utf8")))
    return "this kernel has no overlay file systems";
  try {
    accessSync("/dev/loop-control", constants.R_OK | constants.W_OK);
  } catch {
    return "there are no loop devices (/dev/loop-control)";
  }
  try {
    await promisify(execFile)("unshare", ["--user", "--time", "--fork", "true"]);
  } catch (error) {
    return `no user and time namespaces: ${String((error as { stderr?: string }).stderr ?? error).trim()}`;
  }
  return undefined;
}

function isInstalled(program: string): boolean {
  // Where administrators' programs are, and not always in the path of a person.
  const folders = [...(process.env.PATH ?? "").split(delimiter), "/usr/sbin", "/sbin"];
  return folders.some((folder) => {
    try {
      accessSync(join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}
