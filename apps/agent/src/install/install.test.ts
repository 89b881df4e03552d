import {
  chmodSync,
  existsSync,
  globSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { takeLock } from "../update/lock.ts";
import { readMachineState, stateFile, writeMachineState } from "../update/machine-state.ts";
import { environmentOf } from "./environment-file.ts";
import { InstallRefused, install, type Machine, uninstall } from "./install.ts";
import { LAYOUT } from "./layout.ts";
import { planInstall, planUninstall, type Source } from "./plan-install.ts";

let folder: string;
let root: string;
let source: Source;
let lines: string[];
const machine: Machine = {
  isRoot: false,
  hasSystemd: false,
  lockSeconds: 0,
  run: (words) => {
    throw new Error(`ran ${words.join(" ")}`);
  },
};

beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), "kule-install-")));
  root = join(folder, "root");
  mkdirSync(join(root, "etc"), { recursive: true });
  const binary = join(folder, "kule-agent-0.1.0");
  writeFileSync(binary, "the binary");
  const infra = (name: string) =>
    readFileSync(new URL(`../../../../infra/agent/${name}`, import.meta.url).pathname, "utf8");
  source = {
    binary,
    version: "0.1.0",
    unit: infra("kule-agent.service"),
    updateUnit: infra("kule-agent-update.service"),
    updatePath: infra("kule-agent-update.path"),
    updateTimer: infra("kule-agent-update.timer"),
    regionExample: "region: ist1\n",
  };
  lines = [];
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const print = (line: string) => void lines.push(line);
const at = (path: string) => join(root, path);
const modeOf = (path: string) => statSync(at(path)).mode & 0o777;
const doInstall = (more: { dryRun?: boolean } = {}) =>
  install(source, { root, dryRun: false, start: true, ...more }, print, machine);
const filesOf = () => globSync("**", { cwd: root, exclude: (name) => name === "passwd" }).sort();

test("installing makes the binary, its unit and the files for settings, and only root reads the tokens", () => {
  doInstall();
  expect(readFileSync(at(LAYOUT.binary), "utf8")).toBe("the binary");
  expect(modeOf(LAYOUT.binary)).toBe(0o755);
  expect(readlinkSync(at(LAYOUT.command))).toBe(LAYOUT.binary);
  expect(realpathSync(at(LAYOUT.binary))).toBe(at("/opt/kule-agent/versions/0.1.0/kule-agent"));
  expect(realpathSync(at(LAYOUT.updater))).toBe(realpathSync(at(LAYOUT.binary)));
  expect(readMachineState(root)).toMatchObject({ phase: "idle", highest_version: "0.1.0" });
  expect(modeOf(stateFile("/"))).toBe(0o644);
  expect(readFileSync(at(LAYOUT.unit), "utf8")).toContain(
    `ExecStart=${LAYOUT.binary} run ${LAYOUT.region}\n`,
  );
  expect(readlinkSync(at(LAYOUT.wanted))).toBe(LAYOUT.unit);
  expect(readFileSync(at(LAYOUT.user), "utf8")).toContain("u kule-agent ");
  expect(modeOf(LAYOUT.environment)).toBe(0o600);
  expect(readFileSync(at(LAYOUT.region), "utf8")).toBe("region: ist1\n");
});

test("installing again changes nothing", () => {
  doInstall();
  const before = filesOf().map((path) => lstatSync(at(path), { bigint: true }).ino);
  lines = [];
  doInstall();
  expect(filesOf().map((path) => lstatSync(at(path), { bigint: true }).ino)).toEqual(before);
  expect(lines[0]).toBe("everything is installed");
  expect(planInstall(root, source).replacesRunning).toBe(false);
});

test("a newer binary takes the place of the one before, and the settings stay", () => {
  doInstall();
  writeFileSync(at(LAYOUT.environment), "KULE_AGENT_TOKEN=mine\n");
  writeFileSync(at(LAYOUT.region), "region: mine\n");
  writeFileSync(source.binary, "a newer one");
  source = { ...source, version: "0.2.0" };
  const plan = planInstall(root, source);
  // The folder, the copy, both links, and what is remembered.
  expect(plan.files.map(({ do: what }) => what)).toEqual(["make folder", "copy", "link", "link", "write"]);
  expect(plan.replacesRunning).toBe(true);
  doInstall();
  expect(readFileSync(at(LAYOUT.binary), "utf8")).toBe("a newer one");
  expect(readFileSync(at(LAYOUT.environment), "utf8")).toBe("KULE_AGENT_TOKEN=mine\n");
  expect(readFileSync(at(LAYOUT.region), "utf8")).toBe("region: mine\n");
});

test("a binary that was installed where the link is now becomes a version of its own", () => {
  mkdirSync(dirname(at(LAYOUT.binary)), { recursive: true });
  writeFileSync(at(LAYOUT.binary), "the binary");
  doInstall();
  expect(readlinkSync(at(LAYOUT.binary))).toBe("../versions/0.1.0/kule-agent");
  expect(readFileSync(at(LAYOUT.binary), "utf8")).toBe("the binary");
});

test("an installation by hand ends an update that is under way, and tries a version once more that did not work", () => {
  doInstall();
  const before = readMachineState(root);
  const bad = { version: "0.2.0", code: "crashed", message: "it ended", at: "2026-11-27T04:00:00Z" };
  writeMachineState(root, {
    ...before,
    phase: "watching",
    update: {
      from: "0.1.0",
      to: "0.3.0",
      request_id: "one",
      attempts: 1,
      boots: 0,
      boot_id: "b",
      started_uptime_ms: 1,
      since: "2026-11-27T04:00:00Z",
      reason: null,
    },
    bad_versions: [bad, { ...bad, version: "0.1.5" }],
  });
  source = { ...source, version: "0.2.0" };
  doInstall();
  expect(readMachineState(root)).toMatchObject({
    phase: "idle",
    update: null,
    highest_version: "0.2.0",
    bad_versions: [{ version: "0.1.5" }],
  });
});

test("nothing is installed or removed while an updater is at it", () => {
  doInstall();
  const lock = takeLock(root);
  try {
    source = { ...source, version: "0.2.0" };
    expect(() => doInstall()).toThrow("an update is under way\n    fix: wait for its end");
    expect(() => uninstall({ root, dryRun: false, purge: false }, print, machine)).toThrow(InstallRefused);
    expect(realpathSync(at(LAYOUT.binary))).toContain("/0.1.0/");
  } finally {
    lock?.release();
  }
});

test("tokens that others can read are closed to them", () => {
  mkdirSync(at(LAYOUT.settings), { recursive: true });
  writeFileSync(at(LAYOUT.environment), "KULE_AGENT_TOKEN=mine\n");
  chmodSync(at(LAYOUT.environment), 0o644);
  doInstall();
  expect(modeOf(LAYOUT.environment)).toBe(0o600);
  expect(readFileSync(at(LAYOUT.environment), "utf8")).toBe("KULE_AGENT_TOKEN=mine\n");
});

test("a dry run says what it would do, shows no token, and does nothing", () => {
  const before = filesOf();
  doInstall({ dryRun: true });
  expect(filesOf()).toEqual(before);
  expect(lines).toContain(`would write ${LAYOUT.environment}, mode 0600`);
  expect(lines).toContain(`would copy ${source.binary} to ${LAYOUT.versions}/0.1.0/kule-agent, mode 0755`);
  doInstall();
  lines = [];
  uninstall({ root, dryRun: true, purge: true }, print, machine);
  expect(lines).toContain(`would remove ${LAYOUT.environment}`);
  expect(existsSync(at(LAYOUT.environment))).toBe(true);
});

test("without root nothing is installed or removed, and the message says how", () => {
  const call = () => install(source, { root: "/", dryRun: false, start: true }, print, machine);
  expect(call).toThrow(InstallRefused);
  expect(call).toThrow("fix: sudo kule-agent install");
  expect(() => uninstall({ root: "/", dryRun: false, purge: false }, print, machine)).toThrow(
    "fix: sudo kule-agent uninstall",
  );
  expect(lines).toEqual([]);
});

test("on a machine that runs, the user is made once and systemd reads a unit that is new", () => {
  const words = () => planInstall(root, source).commands.map(({ words: [...all] }) => all.join(" "));
  expect(words()).toEqual([
    `systemd-sysusers ${LAYOUT.user}`,
    "systemctl daemon-reload",
    "systemctl restart kule-agent-update.path kule-agent-update.timer",
  ]);
  doInstall();
  writeFileSync(at("/etc/passwd"), "root:x:0:0::/:/bin/sh\nkule-agent:x:990:990::/:/usr/sbin/nologin\n");
  expect(words()).toEqual([]);
});

test("uninstalling keeps the settings and the key, and purging keeps nothing", () => {
  doInstall();
  mkdirSync(at(LAYOUT.state), { recursive: true });
  writeFileSync(join(at(LAYOUT.state), "sealing-key"), "key");
  writeFileSync(join(at(LAYOUT.settings), "somebody-elses"), "");
  uninstall({ root, dryRun: false, purge: false }, print, machine);
  for (const path of Object.values(LAYOUT).filter(
    (each) =>
      ![LAYOUT.settings, LAYOUT.environment, LAYOUT.region, LAYOUT.state].some((kept) => kept === each),
  ))
    expect(existsSync(at(path))).toBe(false);
  expect(existsSync(at("/opt/kule-agent"))).toBe(false);
  expect(readFileSync(join(at(LAYOUT.state), "sealing-key"), "utf8")).toBe("key");
  expect(existsSync(at(LAYOUT.environment))).toBe(true);

  uninstall({ root, dryRun: false, purge: true }, print, machine);
  for (const path of [LAYOUT.state, LAYOUT.environment, LAYOUT.region])
    expect(existsSync(at(path))).toBe(false);
  expect(existsSync(join(at(LAYOUT.settings), "somebody-elses"))).toBe(true);
  lines = [];
  uninstall({ root, dryRun: false, purge: true }, print, machine);
  expect(lines).toContain("nothing is installed");
});

test("the service is stopped before its files go, and its user after them", () => {
  doInstall();
  writeFileSync(at("/etc/passwd"), "kule-agent:x:990:990::/:/usr/sbin/nologin\n");
  const { updates, before, after } = planUninstall(root, true);
  // An updater that watches would take the end of the service for a crash.
  expect(updates.map(({ words }) => words.join(" "))).toEqual([
    "systemctl disable --now kule-agent-update.path kule-agent-update.timer",
    "systemctl stop kule-agent-update.service",
  ]);
  expect(before).toEqual([{ do: "run", words: ["systemctl", "disable", "--now", "kule-agent"] }]);
  expect(after.map(({ words }) => words[0])).toEqual(["systemctl", "userdel"]);
  expect(planUninstall(root, false).after.map(({ words }) => words[0])).toEqual(["systemctl"]);
});

test("the file of the tokens is read as systemd reads it", () => {
  expect(environmentOf("# A=1\n; B=2\nC=3\n D=\"4 5\"\nE=\nF=a=b\nno line\nG='6'\n")).toEqual({
    C: "3",
    D: "4 5",
    E: "",
    F: "a=b",
    G: "6",
  });
});
