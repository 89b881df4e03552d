// The units of infra/agent, as systemd reads them.

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { requirePart } from "./parts.ts";

const units = resolve(import.meta.dirname, "../../../infra/agent");
const systemd = await requirePart(
  "systemd-analyze",
  () => (spawnSync("systemd-analyze", ["--version"]).error ? "systemd-analyze is not installed" : undefined),
  import.meta.filename,
);
/** In tenths, as systemd counts what a unit could do. The updater is root, and runs versions as the agent's user. */
const MOST_EXPOSED = { "kule-agent.service": 20, "kule-agent-update.service": 30 } as const;

const textOf = (name: string) => readFileSync(join(units, name), "utf8");

test("the updater is started by a request, by the timer and after a start of the machine, and by nothing else", () => {
  expect(textOf("kule-agent-update.path")).toContain("PathChanged=/var/lib/kule-agent/update/request.json\n");
  expect(textOf("kule-agent-update.timer")).toMatch(/^OnBootSec=\d+s\nOnUnitInactiveSec=\d+min$/m);
  expect(textOf("kule-agent-update.service")).not.toContain("[Install]");
});

test("the updater is never the version that it watches", () => {
  expect(textOf("kule-agent-update.service")).toContain("ExecStart=/opt/kule-agent/updater apply-update\n");
});

test("an agent that ends again and again is started again and again", () => {
  expect(textOf("kule-agent.service")).toContain("Restart=always\n");
  expect(textOf("kule-agent.service")).toContain("StartLimitIntervalSec=0\n");
});

describe.skipIf(systemd.missing)("systemd itself", () => {
  let folder = "";
  const files: string[] = [];
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "kule-agent-units-"));
    for (const name of readdirSync(units)) {
      // The programs are not on this machine.
      writeFileSync(join(folder, name), textOf(name).replace(/^ExecStart=\S+/m, "ExecStart=/bin/true"));
      files.push(join(folder, name));
    }
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test("finds nothing wrong in the units", () => {
    const { status, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", ...files], {
      encoding: "utf8",
    });
    expect([status, stderr.split("\n").filter((line) => line.includes("kule-agent"))]).toEqual([0, []]);
  });

  test.each(Object.entries(MOST_EXPOSED))("finds %s hardened", (name, most) => {
    const { status, stdout, stderr } = spawnSync(
      "systemd-analyze",
      ["security", "--offline=true", `--threshold=${most}`, "--no-pager", join(folder, name)],
      { encoding: "utf8" },
    );
    expect([status, stderr], stdout.split("\n").at(-2)).toEqual([0, expect.any(String)]);
  });
});
