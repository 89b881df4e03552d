// The entry point of the tree: `npm start`, `npm test` and the other scripts of package.json. Plain
// JavaScript for any Node from 20 on, with nothing but npm: it installs when needed, then starts the Node of
// node_modules.
import { spawn, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const bin = join(root, "node_modules", ".bin");
const stampFile = join(root, "node_modules", ".kule-install.json");
const pnpm = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).packageManager;

const tasks = {
  start: ["node", "tools/quickstart/src/main.ts"],
  test: ["node", "tools/test-run/src/main.ts"],
  check: ["node", "tools/check/src/main.ts"],
  bench: ["node", "tools/bench/src/main.ts"],
  battery: ["node", "packages/battery/src/main.ts"],
  generate: ["turbo", "run", "generate", "--output-logs=errors-only"],
  build: ["turbo", "run", "build", "--output-logs=errors-only"],
  "server-release": ["node", "tools/build/src/server-release/main.ts"],
  "agent-binary": ["node", "tools/build/src/agent-binary/main.ts"],
  "agent-release": ["node", "tools/build/src/agent-release/main.ts"],
  format: ["biome", "check", "--write", "."],
  ops: ["node", "tools/ops/src/main.ts"],
};

// Settings for the shell's own npm or Node that would change what is installed or how our processes run.
const unwanted = [
  "NODE_OPTIONS",
  "NODE_ENV",
  "NODE_PATH",
  ...["production", "omit", "include", "only", "optional", "dev", "global", "prefix", "dry_run"].map(
    npmSetting,
  ),
  ...["ignore_scripts", "workspace", "workspaces", "if_present", "frozen_lockfile", "node_options"].map(
    npmSetting,
  ),
];

function npmSetting(name) {
  return `npm_config_${name}`;
}

main();

function main() {
  const major = Number(process.versions.node.split(".")[0]);
  if (major < 20)
    fail(`Kule needs Node 20 or newer to start (it then uses its own); this is ${process.version}.`);
  const [name = "", ...args] = process.argv.slice(2);
  if (!Object.hasOwn(tasks, name))
    fail(`Usage: node tools/run.mjs ${Object.keys(tasks).join("|")} [arguments]`);

  const env = {
    // V8's compiled code, for all processes from here on: a start of an agent takes two thirds of the time, a
    // row's half.
    NODE_COMPILE_CACHE: join(root, "node_modules", ".cache", "compiled"),
    ...process.env,
    TURBO_TELEMETRY_DISABLED: "1",
    REDOCLY_TELEMETRY: "off",
  };
  for (const key of Object.keys(env)) {
    if (unwanted.includes(key) || unwanted.includes(key.toLowerCase())) delete env[key];
  }
  const stamp = ensureInstalled(env);
  // turbo calls pnpm by name.
  env.PATH = [bin, stamp.pnpmDir, process.env.PATH].join(delimiter);
  const [program, ...taskArgs] = tasks[name];
  runTask(join(bin, program), [...taskArgs, ...args], env, {
    isNode: program === "node",
    isStack: name === "start",
  });
}

function ensureInstalled(env) {
  const wanted = hashOfManifests();
  const stamp = readStamp();
  if (stamp.hash === wanted && existsSync(join(bin, "node")) && existsSync(join(stamp.pnpmDir, "pnpm")))
    return stamp;
  console.log("Installing dependencies …");
  const installEnv = { ...env, CI: "true" };
  npx(["install", "--frozen-lockfile"], installEnv, "inherit");
  if (!existsSync(join(bin, "node")))
    fail("The installation brought no Node: its build scripts did not run.");
  const pnpmPath = npx(["exec", "sh", "-c", "command -v pnpm"], installEnv, "pipe").trim().split("\n").at(-1);
  const next = { hash: wanted, pnpmDir: dirname(pnpmPath) };
  mkdirSync(dirname(stampFile), { recursive: true });
  writeFileSync(stampFile, JSON.stringify(next));
  return next;
}

function npx(args, env, stdout) {
  const result = spawnSync("npx", ["--yes", pnpm, ...args], {
    cwd: root,
    env,
    encoding: "utf8",
    stdio: ["ignore", stdout, "inherit"],
  });
  if (result.error) fail(`npx could not be run: ${result.error.message}`);
  if (result.status !== 0) {
    rmSync(stampFile, { force: true });
    fail(`\`npx --yes ${pnpm} ${args.join(" ")}\` failed; the text above says why.`);
  }
  return result.stdout ?? "";
}

function hashOfManifests() {
  const manifests = ["apps", "packages", "tools"]
    .flatMap((group) => readdirSync(join(root, group)).map((name) => join(root, group, name, "package.json")))
    .filter((path) => existsSync(path));
  const hash = createHash("sha256");
  for (const path of ["pnpm-lock.yaml", "pnpm-workspace.yaml", "package.json"].map((file) =>
    join(root, file),
  )) {
    hash.update(readFileSync(path)).update("\0");
  }
  for (const path of manifests.sort()) hash.update(path).update(dependenciesOf(path)).update("\0");
  return hash.digest("hex");
}

function dependenciesOf(path) {
  const { dependencies, devDependencies, optionalDependencies } = JSON.parse(readFileSync(path, "utf8"));
  return JSON.stringify([dependencies, devDependencies, optionalDependencies]);
}

function readStamp() {
  try {
    const { hash = "", pnpmDir = "" } = JSON.parse(readFileSync(stampFile, "utf8"));
    return { hash, pnpmDir };
  } catch {
    return { hash: "", pnpmDir: "" };
  }
}

function runTask(program, args, env, { isNode, isStack }) {
  // A closed channel shows a Node task that this process has ended, even when it was killed.
  const stdio = isNode ? ["inherit", "inherit", "inherit", "ipc"] : "inherit";
  const child = spawn(program, args, { cwd: root, env, stdio });
  const end = () => child.kill("SIGTERM");
  child.on("error", (error) => fail(`${program} could not be run: ${error.message}`));
  child.on("exit", (code, signal) => process.exit(signal === null ? code : 128 + constants.signals[signal]));
  // A terminal sends Ctrl-C to the child as well, which decides how to end; kill(1) sends only to us. The
  // stack takes the two signals for one request.
  process.on("SIGINT", () => isStack && end());
  process.on("SIGTERM", end);
  process.on("SIGHUP", end);
  if (isStack && "npm_lifecycle_event" in process.env) onceParentIsGone(end);
}

/**
 * npm forwards signals, unless it was killed; then this process gets another parent, without a notification.
 */
function onceParentIsGone(end) {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    end();
  }, 1_000);
}

function fail(message) {
  console.error(message);
  process.exit(1);
}
