import { chmodSync, mkdirSync } from "node:fs";
import { join, relative } from "node:path";
import { createApiClient } from "@kule/contract/client";
import { UnknownMigrations } from "@kule/database/unknown-migrations";
import { NoImage } from "@kule/guest-images/image-cache";
import { ImageBuildFailed } from "@kule/guest-images/run-tool";
import { PostgresError } from "@kule/postgres/errors";
import { createFirstServer, type FirstServer, Refused } from "./first-server.ts";
import { appendToLog } from "./log-file.ts";
import { ProgressLine } from "./progress-line.ts";
import { seedPublicAddresses } from "./public-addresses.ts";
import { AlreadyRunning, claimHome } from "./run-record.ts";
import { readSettings, type Settings, SettingsError } from "./settings.ts";
import { type Stack, StackRun } from "./stack.ts";
import { ProcessFailed } from "./supervised-process.ts";

/** Errors whose message is enough for the reader; any other is shown with its stack. */
const explained = [
  SettingsError,
  AlreadyRunning,
  PostgresError,
  UnknownMigrations,
  ProcessFailed,
  Refused,
  NoImage,
  ImageBuildFailed,
];

// A closed terminal must not end the product.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});

const begin = performance.now();
let run: StackRun | undefined;
let ending = false;

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => end(signal));
process.on("disconnect", () => end("SIGTERM"));
process.channel?.unref();

try {
  await main();
} catch (error) {
  if (!ending) {
    ending = true;
    console.error(explained.some((kind) => error instanceof kind) ? (error as Error).message : error);
    await run?.stop();
    process.exit(1);
  }
}

async function main(): Promise<void> {
  const settings = readSettings(process.env, process.env.INIT_CWD ?? process.cwd(), process.argv.slice(2));
  mkdirSync(settings.home, { recursive: true });
  // Postgres may run under another account, which must pass; what is secret in here is 0600.
  chmodSync(settings.home, 0o711);
  const logFile = join(settings.home, "logs", "start.log");
  const log = (line: string) => {
    console.log(`  ${line}`);
    appendToLog(logFile, line);
  };
  console.log(`Starting Kule in ${shortPath(settings.home)}`);
  run = new StackRun(settings, await claimHome(settings.home, log), log);
  const stack = await run.start();
  console.log(`Ready after ${((performance.now() - begin) / 1000).toFixed(1)} s. The first server:`);
  const client = createApiClient({
    baseUrl: stack.apiUrl,
    token: stack.seeded.organisation_token,
    timeoutMs: 60_000,
    readRetries: 10,
  });
  const operator = createApiClient({
    baseUrl: stack.apiUrl,
    token: stack.seeded.operator_token,
    timeoutMs: 60_000,
    readRetries: 10,
  });
  await seedPublicAddresses(operator, settings.home, stack.seeded);
  const progress = new ProgressLine(process.stdout);
  const first = await createFirstServer(
    client,
    settings.home,
    (job) => progress.show(job),
    () =>
      log("an earlier run ended during its job; it continues when that agent's lease expires, within 20 s"),
    settings.realGuests ? "debian-12" : undefined,
  );
  progress.end();
  console.log(describeResult(settings, stack, first));
}

function end(signal: NodeJS.Signals): void {
  if (ending) {
    if (signal === "SIGINT") {
      run?.kill();
      process.exit(130);
    }
    return;
  }
  ending = true;
  console.log("\nStopping …");
  const stopped = run?.stop() ?? Promise.resolve();
  stopped.then(
    () => process.exit(0),
    (error) => {
      console.error(error);
      process.exit(1);
    },
  );
}

function describeResult(settings: Settings, stack: Stack, first: FirstServer): string {
  const { users } = stack.seeded;
  const file = shortPath(join(settings.home, "quickstart.json"));
  return [
    "",
    first.outcome,
    ...(first.consolePassword === undefined
      ? []
      : [`Its console password, shown only now: ${first.consolePassword}`]),
    "",
    `Open       ${stack.consoleUrl}`,
    `  sign in  ${users.organisation.email}  ${users.organisation.password}`,
    `  operator ${users.operator.email}  ${users.operator.password}`,
    ...stack.providers.map(
      ({ id, label }) => `  ${label} redirects to ${stack.consoleUrl}/sign-in/with/${id}/callback`,
    ),
    `API        ${stack.apiUrl} (reference: ${stack.apiUrl}/docs)`,
    stack.withoutWires === undefined
      ? "Packets    real ones: `help` at a server's console; docs/products/networks.md has a tour"
      : `Packets    none, so no gateways and nothing to ping: ${stack.withoutWires}`,
    stack.dns.without_powerdns === undefined
      ? `DNS        PowerDNS answers at ${stack.dns.address}; docs/products/domains.md adds a domain`
      : `DNS        a stand-in answers at ${stack.dns.address}: ${stack.dns.without_powerdns}; docs/products/domains.md adds a domain`,
    stack.withoutCa === undefined
      ? `CA         pebble issues certificates; its root is in ${shortPath(join(settings.home, "ca/root.pem"))}`
      : `CA         none, so certificates can only be uploaded: ${stack.withoutCa}`,
    settings.realGuests
      ? "Guests     servers with the image debian-12, and load balancers, are Linux systems that really boot; others are simulated"
      : "Guests     simulated; `npm start -- --real-guests` boots real ones",
    `Tokens     ${file}`,
    `Logs       ${shortPath(join(settings.home, "logs"))}`,
    "",
    "Try next, another server by the API:",
    `  TOKEN=$(node -p 'JSON.parse(fs.readFileSync("${file}")).organisation_token')`,
    `  curl -s ${stack.apiUrl}/servers -H "Authorization: Bearer $TOKEN" \\`,
    `    -H 'Content-Type: application/json' -d '{"name":"web-1","image":"debian-13","package":"m"}'`,
    "",
    "Ctrl-C stops everything; the next `npm start` continues with the same data.",
  ].join("\n");
}

function shortPath(path: string): string {
  const short = relative(process.env.INIT_CWD ?? process.cwd(), path);
  return short.startsWith("..") || short === "" ? path : short;
}
