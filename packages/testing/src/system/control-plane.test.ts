import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { makeServerRelease } from "@kule/build/server-release/make-server-release";
import { findFreePort } from "@kule/postgres/free-port";
import { type RunningPostgres, removePostgresData, startPostgres } from "@kule/postgres/launcher";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { requirePart } from "../parts.ts";
import { blocksOf } from "../rig/page-blocks.ts";
import { probeProxy, type ReverseProxy, startReverseProxy } from "../rig/reverse-proxy.ts";

// The commands of docs/runbooks/control-plane.md, "Install", typed in their order below a folder of our own: a release, a real
// Postgres, nginx in front. Stand-ins for what would change this machine (apt-get, su, systemctl) are in `bin`.

const page = readFileSync(resolve(import.meta.dirname, "../../../../docs/runbooks/control-plane.md"), "utf8");
const runs = (program: string) =>
  spawnSync(program, ["--version"]).error ? `${program} is not installed` : undefined;
const part = await requirePart(
  "an installation",
  () =>
    probeProxy("nginx") ??
    runs("psql") ??
    runs("openssl") ??
    (process.getuid?.() === 0 ? undefined : "it needs root"),
  import.meta.filename,
);

let root = "";
let postgres: RunningPostgres;
let proxy: ReverseProxy;
let ports = { api: 0, console: 0 };
const services = new Map<string, { readonly child: ChildProcess; output: string }>();

/** As typed on a machine whose root is our folder. */
function type(block: string): { readonly status: number | null; readonly output: string } {
  const moved = block
    .replaceAll(/(?<![\w.:$/"]|\$\{)\/(etc|opt|root|usr\/local)\//g, `${root}/$1/`)
    .replaceAll(/"\/etc\//g, `"${root}/etc/`)
    // The superuser of our Postgres has this name.
    .replaceAll("kule_owner", "acme_owner")
    .replaceAll("-C /opt", `-C ${root}/opt`)
    .replaceAll("kule.acme.example", new URL(proxy.origin).host);
  const { status, stdout, stderr } = spawnSync("/bin/sh", ["-eu", "-c", moved], {
    cwd: root,
    encoding: "utf8",
    env: {
      PATH: `${root}/bin:${process.env.PATH}`,
      HOME: root,
      NODE_EXTRA_CA_CERTS: join(root, "ca.pem"),
    },
  });
  return { status, output: `${stdout}${stderr}` };
}

beforeAll(async () => {
  if (part.missing) return;
  root = mkdtempSync(join(tmpdir(), "kule-installation-"));
  chmodSync(root, 0o755);
  for (const folder of [
    "bin",
    "opt",
    "root",
    "etc/systemd/system",
    "etc/nginx/conf.d",
    "usr/local/bin",
    "dist",
  ])
    mkdirSync(join(root, folder), { recursive: true });
  postgres = await startPostgres({ dataDir: join(root, "pg"), database: "unused", log: () => {} });
  ports = { api: await findFreePort(), console: await findFreePort() };
  proxy = await startReverseProxy("nginx", { apiPort: ports.api, consolePort: ports.console });
  writeFileSync(join(root, "ca.pem"), proxy.certificatePem);
  const script = (name: string, text: string) => {
    writeFileSync(join(root, "bin", name), `#!/bin/sh\n${text}\n`);
    chmodSync(join(root, "bin", name), 0o755);
  };
  for (const name of ["apt-get", "nginx", "systemctl"]) script(name, `echo "$0 $*" >> ${root}/typed`);
  const admin = new URL(postgres.ownerUrl);
  admin.pathname = "/postgres";
  script("su", `exec psql --quiet --set ON_ERROR_STOP=1 '${admin.href}'`);
  script("kule-server", `exec ${root}/usr/local/bin/kule-server --config ${root}/etc/kule/server.env "$@"`);
}, 240_000);
afterAll(async () => {
  for (const { child } of services.values()) {
    child.kill("SIGTERM");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }
  await proxy?.end();
  await postgres?.stop();
  if (root !== "") {
    removePostgresData(join(root, "pg"));
    rmSync(root, { recursive: true, force: true });
  }
});

/** As systemd starts the unit: another user, who can read no secret, with the unit's credentials. */
function startUnit(name: string): void {
  const unit = readFileSync(join(root, `etc/systemd/system/${name}.service`), "utf8");
  const credentials = join(root, "credentials", name);
  mkdirSync(credentials, { recursive: true });
  for (const [, credential = "", path = ""] of unit.matchAll(/^LoadCredential=([^:]+):(.*)$/gm)) {
    copyFileSync(join(root, path), join(credentials, credential));
    chmodSync(join(credentials, credential), 0o400);
    spawnSync("chown", ["65534:65534", join(credentials, credential)]);
  }
  const [, program = "", args = ""] = /^ExecStart=(\S+) (.*)$/m.exec(unit) ?? [];
  const child = spawn(
    "setpriv",
    [
      ...[
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--no-new-privs",
        "--pdeathsig",
        "SIGKILL",
        "--",
      ],
      ...[join(root, program), "--config", join(root, "etc/kule/server.env"), ...args.split(" ")],
    ],
    {
      env: {
        PATH: process.env.PATH,
        CREDENTIALS_DIRECTORY: credentials,
        NODE_EXTRA_CA_CERTS: join(root, "ca.pem"),
      },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  const service = { child, output: "" };
  for (const stream of [child.stdout, child.stderr])
    stream?.on("data", (chunk) => {
      service.output += chunk;
    });
  services.set(name, service);
}

const outputs = () =>
  [...services].map(([name, { output }]) => `── ${name}\n${output.slice(-1500)}`).join("\n");

describe.skipIf(part.missing)("the installation's page, typed from the top", { timeout: 300_000 }, () => {
  test("ends with a control plane that is ready", async () => {
    const blocks = blocksOf(page, "Install");
    expect(blocks).toHaveLength(9);
    const [release = "", unpack = "", secrets = "", database = "", configuration = "", ...others] = blocks;
    const [first = "", start = "", nginx = "", doctor = ""] = others;

    // The first block is for the tree: what its command does, and then its archive.
    expect(release).toContain("npm run server-release -- dist/kule-server");
    await makeServerRelease(join(root, "dist/kule-server"));
    expect(type(release.split("\n").slice(1).join("\n"))).toEqual({ status: 0, output: "" });
    expect(type(unpack)).toEqual({ status: 0, output: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });

    for (const _ of [1, 2]) expect(type(secrets)).toEqual({ status: 0, output: "" });
    const files = globSync(join(root, "etc/kule/secrets/*"));
    expect(files).toHaveLength(7);
    for (const file of files) expect([file, statSync(file).mode & 0o777]).toEqual([file, 0o600]);
    expect(type(database)).toEqual({ status: 0, output: "" });

    expect(type(configuration)).toEqual({ status: 0, output: "" });
    const config = join(root, "etc/kule/server.env");
    const text = readFileSync(config, "utf8");
    writeFileSync(
      config,
      text
        .replaceAll("kule_owner", "acme_owner")
        .replaceAll("127.0.0.1:8080", `127.0.0.1:${ports.api}`)
        .replaceAll("127.0.0.1:5432", `127.0.0.1:${postgres.port}`)
        .replace("KULE_API_PORT=8080", `KULE_API_PORT=${ports.api}`)
        .replace("KULE_CONSOLE_PORT=3000", `KULE_CONSOLE_PORT=${ports.console}`),
    );
    expect(type(first)).toEqual({ status: 0, output: expect.stringMatching(/^\{"applied":\["0001-/) });
    const seeded = JSON.parse(readFileSync(join(root, "root/kule-seed.json"), "utf8"));

    expect(type(start)).toEqual({ status: 0, output: "" });
    const typed = readFileSync(join(root, "typed"), "utf8");
    const [, names = ""] = /systemctl enable --now (.*)/.exec(typed) ?? [];
    expect(names.split(" ")).toEqual(["kule-api", "kule-worker", "kule-console"]);
    for (const name of names.split(" ")) startUnit(name);
    expect(type(nginx)).toEqual({ status: 0, output: "" });
    expect(readFileSync(join(root, "etc/nginx/conf.d/kule.conf"), "utf8")).toContain(
      new URL(proxy.origin).host,
    );

    const ready = () => type(doctor);
    await expect
      .poll(() => ready().output, { timeout: 120_000, interval: 2_000, message: outputs() })
      .toMatch(/\nready: \d+ checks/);
    const { status, output } = ready();
    expect([status, output.match(/^(WRONG|advice) +(?!disk).*/gm)]).toEqual([
      0,
      [
        expect.stringMatching(/^advice +region ist1 +no agent has reported yet/),
        expect.stringMatching(/^advice +backup: log +archive_mode is off/),
      ],
    ]);

    const me = spawnSync(
      "curl",
      [
        "-s",
        "--cacert",
        join(root, "ca.pem"),
        "-H",
        `Authorization: Bearer ${seeded.operator_token}`,
        `${proxy.origin}/api/v1/me`,
      ],
      { encoding: "utf8" },
    );
    expect(JSON.parse(me.stdout)).toMatchObject({ user: { email: "operator@kule.example" } });
  });

  test("what a release has to be whole is in it, wherever it is put", () => {
    const there = (path: string) => existsSync(join(root, "opt/kule-server", path));
    for (const path of [
      "bin/node",
      "api/main.js",
      "console/main.js",
      "console/assets",
      "share/control-plane.md",
      "share/upgrade.md",
    ])
      expect([path, there(path)]).toEqual([path, true]);
    expect(globSync(join(root, "opt/kule-server/**/*.map"))).toEqual([]);
    for (const [, path = ""] of page.matchAll(/\/opt\/kule-server\/(share\/[\w./-]+)/g))
      expect([path, there(path.replace(/\.$/, "")) || there(dirname(path))]).toEqual([path, true]);
  });

  test("the image of infra/server/Containerfile has every library that its Node needs, and starts what is there", () => {
    const recipe = readFileSync(
      resolve(import.meta.dirname, "../../../../infra/server/Containerfile"),
      "utf8",
    );
    const { stdout } = spawnSync("ldd", [join(root, "opt/kule-server/bin/node")], { encoding: "utf8" });
    const needed = [...stdout.matchAll(/^\s*(lib[\w+]+)\.so/gm)].map(([, name]) => name);
    // libc6 is in every image of Debian; libgcc_s comes with libstdc++6.
    const ofBase = ["libc", "libm", "libdl", "libpthread", "librt", "libgcc_s"];
    const packages: Readonly<Record<string, string>> = { libatomic: "libatomic1", "libstdc++": "libstdc++6" };
    expect(needed).toContain("libatomic");
    for (const name of needed.filter((each) => !ofBase.includes(each ?? "")))
      expect([name, recipe.includes(packages[name ?? ""] ?? "a package for it")]).toEqual([name, true]);
    const [, entry = ""] = /^ENTRYPOINT \["([^"]+)"\]$/m.exec(recipe) ?? [];
    expect(existsSync(join(root, entry))).toBe(true);
  });

  test("the reference page of the API is part of it", async () => {
    const curl = spawnSync(
      "curl",
      ["-s", "--cacert", join(root, "ca.pem"), `${proxy.origin}/api/v1/docs/reference.js`],
      {
        encoding: "utf8",
        maxBuffer: 32 * 1024 ** 2,
      },
    );
    expect(curl.stdout).toContain("SwaggerUIBundle({");
  });

  test("no service can read the others' secrets", () => {
    expect(services.size).toBe(3);
    for (const [name, { child }] of services) {
      const environment = readFileSync(`/proc/${child.pid}/environ`, "latin1");
      expect([name, environment.includes("PASSWORD=")]).toEqual([name, false]);
      const read = spawnSync("setpriv", [
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "cat",
        join(root, "etc/kule/secrets/api-secret"),
      ]);
      expect(read.status).not.toBe(0);
    }
  });

  test("an end asked for by systemd is an end without an error", async () => {
    for (const [name, { child }] of services) {
      child.kill("SIGTERM");
      const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
      expect([name, code, signal]).toEqual([name, 0, null]);
    }
  });
});
