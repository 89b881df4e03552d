import type { Row, RowResult, RowRun } from "../row.ts";
import { runCanary } from "../secret-canary/canary-run.ts";
import {
  type CanaryWorld,
  labSink,
  logSinks,
  processSinks,
  startCanaryWorld,
  tableSinks,
} from "../secret-canary/canary-world.ts";
import { type Sink, searchSecrets, secretViolations } from "../secret-search/secret-search.ts";

const roundsOf = { sample: 1, full: 3 } as const;
/** The beginnings of our hashes: a place that contains one lets an attacker guess passwords. */
const hashes = [
  /\$6\$rounds=\d+\$[./0-9A-Za-z]{16}\$/,
  /\$argon2id\$v=19\$m=\d+,t=\d+,p=\d+\$[A-Za-z0-9+/]{20}/,
];

export const row: Row = {
  id: "C14",
  title: "No secret is stored or logged outside of its place, at any log level and after any fault",
  minutes: 1.5,
  mutants: [
    {
      name: "headers-in-the-log",
      removes: "the removal of headers from the log",
      patches: [
        {
          file: "apps/api/src/platform/operation.ts",
          find: "  const answered = deps.metrics.beginRequest(info.id);\n",
          replace:
            "  const answered = deps.metrics.beginRequest(info.id);\n  deps.log.debug({ headers: context.req.header() });\n",
        },
      ],
      expects: /log of api holds the organisation's token/,
    },
    {
      name: "password-stored-plain",
      removes: "the hash over a console password",
      patches: [
        {
          file: "apps/api/src/products/servers/console-password.ts",
          find: "password_hash: encrypt(password,",
          replace: "password_hash: ((text: string) => text)(password,",
        },
      ],
      expects: /holds the console password of linux/,
    },
    {
      name: "windows-password-on-the-drive",
      removes: "the absence of a Windows password from the config and the cloud-init drive",
      patches: [
        {
          file: "packages/programs/src/servers/create-server/desired-vm.ts",
          find: "    config: { ...hardware(job, settings), ...housekeeping(job), ...cloudInit(job, settings) },",
          replace: `    config: {
      ...hardware(job, settings),
      ...housekeeping(job),
      ...cloudInit(job, settings),
      ...(payload.os_family === "windows"
        ? { cipassword: guestUser(payload, world.openSecret)?.password ?? null }
        : {}),
    },`,
        },
      ],
      expects: /the lab's files holds the console password of windows/,
    },
    {
      name: "secret-left-after-its-job",
      removes: "the wipe of a password's hash",
      patches: [
        {
          file: "apps/api/src/products/servers/settle.ts",
          find: "if (settled.wipesSecret) wipeSecret(tx, server);",
          replace: "if (settled.wipesSecret && wipeSecret === null) return;",
        },
      ],
      expects: /table public\.server_secret holds the stored hash/,
    },
    {
      name: "uploaded-key-stored-plain",
      removes: "the seal over the private key of an upload",
      patches: [
        {
          file: "apps/api/src/products/certificates/read-material.ts",
          find: "sealedKey: sealSecret(",
          replace: 'sealedKey: ((...given: readonly string[]) => given[1] ?? "")(',
        },
      ],
      expects: /table public\.certificate_version holds the key of (an upload|a replacement)/,
    },
  ],
  run,
};

async function run({ scale, progress }: RowRun): Promise<RowResult> {
  const world = await startCanaryWorld();
  try {
    const violations = await runCanary(world, roundsOf[scale], progress);
    progress("the search");
    const sinks = await allSinks(world);
    console.error(
      world.region.api
        .output()
        .split("\n")
        .filter((l) => l.includes("err"))
        .map((l) => l.slice(0, 1500))
        .join("\n"),
    );
    const secrets = world.secrets.all;
    const found = searchSecrets(secrets, sinks);
    violations.push(...secretViolations(found));
    for (const { name, text, mayHold } of sinks)
      if (mayHold === undefined && !name.startsWith("table public.app_user"))
        for (const hash of hashes)
          if (hash.test(text)) violations.push(`${name} holds the hash of some password`);
    return {
      cases: secrets.length * sinks.length,
      violations,
      figures: {
        secrets: secrets.length,
        places: sinks.length,
        "bytes searched": found.bytes,
        "bytes of logs": logSinks(world).reduce((sum, { text }) => sum + text.length, 0),
        "answers kept": world.api.answers.length,
      },
    };
  } finally {
    await world.end();
  }
}

async function allSinks(world: CanaryWorld): Promise<Sink[]> {
  const metrics = await (await fetch(world.metricsUrl)).text();
  const { answers } = world.api;
  const errors = answers.filter(({ status }) => status >= 400);
  return [
    ...logSinks(world),
    ...processSinks(world),
    ...world.midway,
    ...(await tableSinks(world, "")),
    labSink(world),
    { name: "the metrics", text: metrics, control: "kule_api_requests_total" },
    {
      name: "the answers of errors",
      text: errors.map(({ text }) => text).join("\n"),
      control: '"request_id"',
    },
    ...answers
      .filter(({ status }) => status < 400)
      .map(({ what, text }) => ({ name: `an answer to ${what}`, text, control: text.slice(0, 60) })),
  ];
}
