import { expect, test } from "vitest";
import { parseCommandLine } from "./command-line.ts";

const textOf = (...args: string[]) => {
  const parsed = parseCommandLine(args);
  return "text" in parsed ? parsed : { text: JSON.stringify(parsed), isError: null };
};

const COMMANDS = [
  "run",
  "check",
  "status",
  "images",
  "install",
  "enrol",
  "update",
  "uninstall",
  "conformance",
];
/** Of the agent's own processes. */
const OWN = ["apply-update", "check-self", "reach", "check-update"];

test("the help names every command, and every command has help of its own", () => {
  const { text, isError } = textOf("--help");
  expect(isError).toBe(false);
  for (const command of COMMANDS) {
    expect(text).toContain(`\n  kule-agent ${command} `);
    const own = textOf(command, "--help");
    expect(own.isError).toBe(false);
    expect(own.text).toMatch(new RegExp(`^kule-agent ${command} `));
  }
});

test("what the updater calls is in no list, and explains itself when it is asked", () => {
  const { text } = textOf("--help");
  for (const command of OWN) {
    expect(text).not.toContain(command);
    expect(textOf(command, "--help").text).toMatch(new RegExp(`^kule-agent ${command} `));
  }
});

test("an update is looked at, or goes to a version", () => {
  expect(parseCommandLine(["update", "--check"])).toEqual({ command: "update", to: null, root: "/" });
  expect(parseCommandLine(["update", "--to", "1.4.0-rc.2"])).toMatchObject({ to: "1.4.0-rc.2" });
});

test("a command's help explains each of its options", () => {
  expect(textOf("run", "--help").text).toMatch(/--once +\S[\s\S]*--dry-run +\S/);
  expect(textOf("install", "-h").text).toMatch(/--dry-run +\S[\s\S]*--no-start +\S[\s\S]*--root DIR +\S/);
  expect(textOf("uninstall", "-h").text).toMatch(/--purge +\S/);
});

test("a run is a service, one round or a plan", () => {
  expect(parseCommandLine(["run", "r.yaml"])).toEqual({ command: "run", path: "r.yaml", mode: "service" });
  expect(parseCommandLine(["run", "--once", "r.yaml"])).toMatchObject({ mode: "once" });
  expect(parseCommandLine(["run", "r.yaml", "--dry-run"])).toMatchObject({ mode: "dry run" });
});

test("an installation is of this machine, unless another root is named", () => {
  expect(parseCommandLine(["install"])).toEqual({
    command: "install",
    root: "/",
    dryRun: false,
    start: true,
  });
  expect(parseCommandLine(["install", "--root", "/mnt", "--dry-run", "--no-start"])).toEqual({
    command: "install",
    root: "/mnt",
    dryRun: true,
    start: false,
  });
  expect(parseCommandLine(["uninstall", "--purge"])).toMatchObject({ root: "/", purge: true });
});

test.each([
  { args: [], says: /^kule-agent \d/ },
  { args: ["walk", "region.yaml"], says: /^there is no command walk\n/ },
  { args: ["toString"], says: /^there is no command toString\n/ },
  { args: ["--colour"], says: /^there is no option --colour\n/ },
  { args: ["run"], says: /^run needs <region\.yaml>\n/ },
  { args: ["run", "a", "b"], says: /^run does not know what to do with b\n/ },
  { args: ["run", "a", "--once", "--dry-run"], says: /^--once and --dry-run exclude each other\n/ },
  { args: ["enrol", "https://kule.example"], says: /^enrol needs <api-address> <code>\n/ },
  { args: ["check", "a", "--once"], says: /--once/ },
  { args: ["install", "--root"], says: /--root/ },
  { args: ["update"], says: /^update needs --check or --to VERSION\n/ },
  { args: ["update", "--check", "--to", "1.4.0"], says: /^update needs --check or --to VERSION\n/ },
  { args: ["update", "--to", "latest"], says: /^--to is a version such as 1\.4\.0, not latest\n/ },
  { args: ["status", "here"], says: /^status does not know what to do with here\n/ },
])("$args is refused: what is wrong comes first, then how it is called", ({ args, says }) => {
  const { text, isError } = textOf(...args);
  expect(isError).toBe(true);
  expect(text).toMatch(says);
  expect(text).toContain("kule-agent ");
});
