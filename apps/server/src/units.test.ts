import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { requirePart } from "@kule/testing/parts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { checkEntries, readEntries } from "./configuration-file.ts";
import { fileVariableOf, mayBeInFile, passwordsOfUrls, variables } from "./variables.ts";

const infra = resolve(import.meta.dirname, "../../../infra/server");
const services = ["api", "worker", "console"] as const;
const unitOf = (service: string) => readFileSync(join(infra, `systemd/kule-${service}.service`), "utf8");

const systemd = await requirePart(
  "systemd-analyze",
  () => (spawnSync("systemd-analyze", ["--version"]).error ? "systemd-analyze is not installed" : undefined),
  import.meta.filename,
);

const example = join(infra, "server.env");
const entries = readEntries(readFileSync(example, "utf8"), example);

test("the example of the configuration is one that is taken, with the lines that are comments too", () => {
  checkEntries(entries, variables, example);
  const text = readFileSync(example, "utf8").replaceAll(/^#(?=[A-Z_]+=)/gm, "");
  // Two names come from the files that it names.
  const known = {
    ...variables,
    KULE_SMTP_PASSWORD: { readBy: ["worker"], kind: "secret" },
    KULE_DNS_API_KEY: { readBy: ["worker"], kind: "secret" },
  } as const;
  checkEntries(readEntries(text, example), known, example);
});

describe.each(services)("the unit of %s", (service) => {
  const unit = unitOf(service);

  test("hands over the secrets of the example that its program reads, and no others", () => {
    const needed = Object.entries(variables).flatMap(([name, variable]) => {
      const file = mayBeInFile(variable) ? entries.get(fileVariableOf(name))?.value : undefined;
      return file !== undefined && variable.readBy.includes(service) ? [basename(file)] : [];
    });
    const given = [...unit.matchAll(/^LoadCredential=([^:]+):(.*)$/gm)];
    expect(given.map(([, name]) => name).sort()).toEqual(needed.sort());
    for (const [, name, path] of given) expect(path).toBe(`/etc/kule/secrets/${name}`);
  });

  test("starts its program with the rights of nobody, and not again when the configuration cannot be used", () => {
    expect(unit).toContain(`ExecStart=/opt/kule-server/bin/kule-server ${service}\n`);
    for (const line of [
      "DynamicUser=yes",
      "NoNewPrivileges=yes",
      "ProtectSystem=strict",
      "CapabilityBoundingSet=",
    ])
      expect(unit.split("\n")).toContain(line);
    expect(unit).toContain("RestartPreventExitStatus=78");
  });
});

test("no password of a database is in two files", () => {
  for (const [url, password] of Object.entries(passwordsOfUrls))
    expect([entries.get(url)?.value, entries.get(fileVariableOf(password))?.value]).toEqual([
      expect.stringMatching(/^postgres:\/\/kule_\w+@/),
      expect.stringMatching(/^secrets\//),
    ]);
});

test("the units beside the first ones, as the page on upgrades makes them, differ by their port alone", () => {
  const page = readFileSync(resolve(import.meta.dirname, "../../../docs/runbooks/upgrade.md"), "utf8");
  const block = /^for name in api console;.*?^done$/ms.exec(page)?.[0] ?? "";
  const folder = mkdtempSync(join(tmpdir(), "kule-next-"));
  try {
    for (const name of ["api", "console"]) writeFileSync(join(folder, `kule-${name}.service`), unitOf(name));
    const { status, stderr } = spawnSync(
      "/bin/sh",
      ["-eu", "-c", block.replaceAll("/etc/systemd/system", folder)],
      { encoding: "utf8" },
    );
    expect([status, stderr]).toEqual([0, ""]);
    for (const [name, port] of [
      ["api", "KULE_API_PORT=8081"],
      ["console", "KULE_CONSOLE_PORT=3001"],
    ] as const) {
      const made = readFileSync(join(folder, `kule-${name}-next.service`), "utf8");
      expect(made).toBe(
        unitOf(name).replace("Environment=NODE_ENV=production\n", (line) => `${line}Environment=${port}\n`),
      );
      expect(made).toContain(port);
      // It goes on for the delay of a stop, and for what runs then.
      expect(unitOf(name)).toContain("TimeoutStopSec=30\n");
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

describe.skipIf(systemd.missing)("systemd itself", () => {
  let folder = "";
  const files: string[] = [];
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "kule-units-"));
    mkdirSync(join(folder, "bin"));
    writeFileSync(join(folder, "bin/kule-server"), "#!/bin/sh\n");
    chmodSync(join(folder, "bin/kule-server"), 0o755);
    for (const service of services) {
      const file = join(folder, `kule-${service}.service`);
      writeFileSync(file, unitOf(service).replaceAll("/opt/kule-server", folder));
      files.push(file);
    }
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test("finds nothing wrong in the units", () => {
    const { status, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", ...files], {
      encoding: "utf8",
    });
    expect([status, stderr.split("\n").filter((line) => line.includes("kule-"))]).toEqual([0, []]);
  });

  test("calls each of them safe", () => {
    for (const file of files) {
      const { status, stdout, stderr } = spawnSync(
        "systemd-analyze",
        ["security", "--offline=true", "--threshold=20", "--no-pager", file],
        { encoding: "utf8" },
      );
      expect([status, stderr], stdout.split("\n").at(-2)).toEqual([0, expect.any(String)]);
    }
  });
});
