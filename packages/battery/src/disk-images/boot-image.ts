import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildDiskImage } from "@kule/guest-images/build-disk-image";
import { imageSettings } from "@kule/guest-images/image-cache";
import { readRecipe } from "@kule/guest-images/recipe";
import { call, run } from "@kule/lab/api-client";
import { startLab } from "@kule/lab/lab";
import type { RowRun } from "../row.ts";
import { type DriveFiles, EmulatedMachine } from "./emulated-machine.ts";
import { copyRecipes } from "./patched-recipes.ts";

const MAC = "BC:24:11:0A:0B:0C";
const DISK_GIB = 10;

/** The drive that a hypervisor renders for this configuration: the lab's is that of Proxmox VE byte for byte. */
async function renderedDrive(folder: string): Promise<DriveFiles> {
  const lab = await startLab({ dataDir: join(folder, "lab"), timeScale: 0 });
  try {
    const machine = "/nodes/pve1/qemu/20001";
    await run(lab, "POST /nodes/pve1/qemu/9002/clone", { form: { newid: 20001, name: "web-1" } });
    const form = {
      ...{ ciuser: "debian", cipassword: "correct horse", ciupgrade: 0, nameserver: "10.0.1.1" },
      ...{ net0: `virtio=${MAC},bridge=vmbr1,tag=301`, ipconfig0: "ip=10.0.1.5/24,gw=10.0.1.1" },
    };
    await run(lab, `POST ${machine}/config`, { form });
    const dump = async (type: string) =>
      String((await call(lab, `GET ${machine}/cloudinit/dump?type=${type}`)).data);
    return { user: await dump("user"), meta: await dump("meta"), network: await dump("network") };
  } finally {
    await lab.stop();
  }
}

/** What a guest must answer: the command, the answer, and what is wrong when it is another one. */
const EXPECTED: readonly { readonly line: string; readonly answer: RegExp; readonly wrong: string }[] = [
  {
    line: "cloud-init status --wait | tail -1; cat /run/cloud-init/result.json",
    answer: /status: done[\s\S]*DataSourceNoCloud[\s\S]*"errors": \[\]/,
    wrong: "cloud-init has not finished with the drive",
  },
  { line: "hostname", answer: /^web-1$/, wrong: "it has not the drive's name" },
  { line: "ip -4 -o address show", answer: / 10\.0\.1\.5\/24 /, wrong: "it has not the drive's address" },
  { line: "ip route", answer: /default via 10\.0\.1\.1/, wrong: "it has not the drive's gateway" },
  {
    line: "df -BG --output=size / | tail -1",
    answer: /^(9|10)G$/,
    wrong: `its file system was not grown to the disk of ${DISK_GIB} GB`,
  },
  {
    line: "systemctl is-system-running --wait; systemctl --failed --no-legend",
    answer: /^running$/,
    wrong: "units of it have failed",
  },
  { line: "systemd-detect-virt", answer: /^qemu$/, wrong: "it is no virtual machine" },
  {
    line: "for key in /etc/ssh/ssh_host_*_key; do test -s $key && echo made; done | sort -u",
    answer: /^made$/,
    wrong: "it has not made host keys of its own",
  },
];

/** @returns what is wrong with the recipe's disk image when a hypervisor boots it */
export async function bootImage(
  recipeName: string,
  { progress }: RowRun,
): Promise<{
  readonly cases: number;
  readonly violations: string[];
  readonly bootSeconds: number;
}> {
  const folder = mkdtempSync(join(tmpdir(), "kule-boot-"));
  let machine: EmulatedMachine | undefined;
  try {
    const recipes = join(folder, "recipes");
    mkdirSync(recipes);
    copyRecipes(recipes);
    const recipe = readRecipe(recipeName, recipes);
    const image = join(folder, `${recipeName}.qcow2`);
    const { mirror } = imageSettings();
    await buildDiskImage(recipe, image, progress, mirror === undefined ? {} : { mirror });
    const drive = await renderedDrive(folder);
    progress("booting");
    const startedAt = performance.now();
    machine = await EmulatedMachine.start(folder, { image, diskGib: DISK_GIB, mac: MAC, drive });
    const isThere = await machine.booted();
    const bootSeconds = Math.round((performance.now() - startedAt) / 1000);
    if (!isThere) {
      const end = machine.console().slice(-600);
      return { cases: 1, violations: [`no guest agent answers after ${bootSeconds} s: ${end}`], bootSeconds };
    }
    const violations: string[] = [];
    for (const { line, answer, wrong } of EXPECTED) {
      const given = await machine.shell(line);
      if (!answer.test(given)) violations.push(`${wrong}: ${given.slice(0, 500)}`);
    }
    return { cases: EXPECTED.length, violations, bootSeconds };
  } finally {
    await machine?.end();
    rmSync(folder, { recursive: true, force: true });
  }
}
