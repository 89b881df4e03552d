// What is left of real guests when something of the lab is killed: nothing, until it starts again.

import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { call, run } from "@kule/lab/api-client";
import type { Lab } from "@kule/lab/lab";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startProcess, type TestProcess } from "../child-process.ts";
import { IMAGE_TIMEOUT_MS, realGuestRoots, requireRealGuests } from "./real-guests-part.ts";
import { BOOT_MS, vm } from "./real-lab.ts";

const part = await requireRealGuests(import.meta.filename);
const main = join(import.meta.dirname, "../../../lab/src/main.ts");
const ONE = 20021;

describe.skipIf(part.missing)("A lab with real guests that is killed", { timeout: 3 * BOOT_MS }, () => {
  let roots = "";
  const folder = mkdtempSync(join(tmpdir(), "kule-killed-"));
  let running: TestProcess | undefined;

  beforeAll(async () => {
    roots = JSON.stringify(await realGuestRoots());
  }, IMAGE_TIMEOUT_MS);
  afterAll(async () => {
    await running?.end("SIGTERM");
    rmSync(folder, { recursive: true, force: true });
  });

  async function start(): Promise<Lab> {
    running = startProcess("lab", [main], {
      KULE_LAB_DIR: folder,
      KULE_LAB_PORT: "0",
      KULE_LAB_WIRES: "on",
      KULE_LAB_TIME_SCALE: "0",
      KULE_LAB_REAL_GUESTS: roots,
    });
    await expect.poll(() => running?.output() ?? "", { timeout: 60_000 }).toContain('"ready":true');
    const { url, operatorToken } = JSON.parse(readFileSync(join(folder, "lab.json"), "utf8"));
    const [operatorTokenId = "", operatorTokenSecret = ""] = operatorToken.split("=");
    return { url, operatorTokenId, operatorTokenSecret } as Lab;
  }

  const asked = (lab: Lab, line: string, form: Record<string, string | number>) =>
    call(lab, line, { as: "operator", form });
  const booted = (lab: Lab) =>
    expect
      .poll(async () => (await asked(lab, `POST ${vm(ONE)}/agent/ping`, {})).status, {
        timeout: BOOT_MS,
        interval: 300,
      })
      .toBe(200);

  /** The processes of the guests of a lab, and its disks that are in use. */
  function left(pid: number): { processes: number; disks: string } {
    const groups = "/sys/fs/cgroup";
    const unified = existsSync(join(groups, "unified")) ? join(groups, "unified") : groups;
    const parent = join(unified, "kule-lab");
    const own = existsSync(parent) ? readdirSync(parent).filter((name) => name.startsWith(`${pid}-`)) : [];
    const processes = own.flatMap((name) =>
      readdirSync(join(parent, name), { recursive: true, encoding: "utf8" })
        .filter((file) => file.endsWith("cgroup.procs"))
        .flatMap((file) =>
          readFileSync(join(parent, name, file), "utf8")
            .split("\n")
            .filter(Boolean),
        ),
    );
    const disks = readdirSync(join(folder, "disks")).map((file) =>
      execFileSync("losetup", ["--associated", join(folder, "disks", file)], { encoding: "utf8" }),
    );
    return { processes: processes.length, disks: disks.join("") };
  }

  test("leaves no process and no mount, and boots its guests again with their disks", async () => {
    const first = await start();
    const done = async (line: string, form: Record<string, string | number> = {}) =>
      expect(await run(first, line, { as: "operator", form })).toBe("OK");
    await done("POST /nodes/pve1/qemu/9002/clone", { newid: ONE, name: "kept" });
    await done(`POST ${vm(ONE)}/config`, { ciuser: "kule", ciupgrade: 0 });
    await done(`POST ${vm(ONE)}/status/start`);
    await booted(first);
    await asked(first, `POST ${vm(ONE)}/agent/file-write`, { file: "/etc/kept", content: "here" });
    const execution = await call(first, `POST ${vm(ONE)}/agent/exec`, {
      as: "operator",
      form: { command: "sync" },
    });
    expect(execution.status).toBe(200);
    const pid = running?.pid ?? 0;
    expect(left(pid).processes).toBeGreaterThan(5);
    await running?.end("SIGKILL");
    await expect.poll(() => left(pid)).toEqual({ processes: 0, disks: "" });

    const second = await start();
    await booted(second);
    expect(
      (await call(second, `GET ${vm(ONE)}/agent/file-read?file=/etc/kept`, { as: "operator" })).data.content,
    ).toBe("here");
    // The empty groups of the one before were removed.
    expect(
      existsSync(`/sys/fs/cgroup/unified/kule-lab`) &&
        readdirSync("/sys/fs/cgroup/unified/kule-lab").filter((name) => name.startsWith(`${pid}-`)),
    ).toEqual([]);
  });

  test("loses its guests with the process that holds its namespaces, and nothing stays", async () => {
    const pid = running?.pid ?? 0;
    expect(left(pid).processes).toBeGreaterThan(5);
    const [holder = ""] = execFileSync("pgrep", ["--parent", String(pid), "unshare"], {
      encoding: "utf8",
    }).split("\n");
    process.kill(Number(holder), "SIGKILL");
    await expect.poll(() => left(pid)).toEqual({ processes: 0, disks: "" });
  });
});
