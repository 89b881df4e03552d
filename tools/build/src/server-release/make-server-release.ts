import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { bundleApps } from "../bundle-apps.ts";

const root = resolve(import.meta.dirname, "../../../..");

/** The apps of the control plane. */
const apps = ["apps/api", "apps/console", "apps/server"] as const;

/** The parts of swagger-ui-dist that the API's reference page is made of. */
const referenceParts = ["package.json", "LICENSE", "swagger-ui-bundle.js", "swagger-ui.css"];

/** For operators: what to copy to /etc, and what explains it. By their places below `share`. */
const shared: readonly (readonly [from: string, to: string])[] = [
  ["LICENSE", "LICENSE"],
  ["infra/server/server.env", "server.env"],
  ["infra/server/systemd", "systemd"],
  ["infra/server/proxies", "proxies"],
  ["docs/runbooks/control-plane.md", "control-plane.md"],
  ["docs/runbooks/upgrade.md", "upgrade.md"],
  ["docs/server-configuration.md", "server-configuration.md"],
  ["docs/acme.example.yaml", "acme.example.yaml"],
  ["docs/dns.example.yaml", "dns.example.yaml"],
  ["docs/mail.example.yaml", "mail.example.yaml"],
];

const launcher = `#!/bin/sh
# Starts kule-server with the Node of this folder.
here=$(dirname "$(readlink -f "$0")")
exec "$here/node" "$here/../server/main.js" "$@"
`;

/**
 * Makes a folder with everything that the control plane's processes need, Node included: bin/kule-server starts each of
 * them. It can be moved, and is the same on every machine of the same architecture.
 *
 * @param before the folder of the release before: pages that its panel has answered find their scripts and styles at this one too
 * @throws Error when the folder is there already, and not a release: nothing is removed
 */
export async function makeServerRelease(directory: string, before?: string): Promise<void> {
  const assetsBefore = before === undefined ? null : join(before, "console/assets");
  if (assetsBefore !== null && !existsSync(assetsBefore))
    throw new Error(`${before} is no release: it has no ${assetsBefore}`);
  if (
    existsSync(directory) &&
    readdirSync(directory).length > 0 &&
    !existsSync(join(directory, "bin/kule-server"))
  )
    throw new Error(`${directory} is not empty; name a folder that is not there yet`);
  const bundles = await bundleApps(apps);
  const draft = `${directory}.${process.pid}`;
  try {
    for (const bundle of bundles) copyBundle(dirname(join(root, bundle)), draft);
    if (assetsBefore !== null) keepAssets(assetsBefore, join(draft, "console/assets"));
    copyReference(join(draft, "api/node_modules/swagger-ui-dist"));
    mkdirSync(join(draft, "bin"), { recursive: true });
    writeFileSync(join(draft, "bin/kule-server"), launcher);
    copyFileSync(process.execPath, join(draft, "bin/node"));
    for (const file of ["bin/kule-server", "bin/node"]) chmodSync(join(draft, file), 0o755);
    for (const [from, to] of shared) cpSync(join(root, from), join(draft, "share", to), { recursive: true });
    rmSync(directory, { recursive: true, force: true });
    renameSync(draft, directory);
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
}

/** `apps/api/dist` becomes `api`; source maps and the build's notes are not needed to run it. */
function copyBundle(dist: string, directory: string): void {
  const name = dirname(dist).split("/").at(-1) ?? "";
  cpSync(dist, join(directory, name), {
    recursive: true,
    filter: (path) => !/\.map$|\/\.inputs$|\/patched-[0-9a-f]+$/.test(path),
  });
  // The files are modules wherever the folder is put.
  writeFileSync(join(directory, name, "package.json"), '{ "type": "module" }\n');
}

function copyReference(target: string): void {
  const own = createRequire(join(root, "apps/api/package.json"));
  const folder = dirname(own.resolve("swagger-ui-dist/package.json"));
  mkdirSync(target, { recursive: true });
  for (const part of referenceParts) copyFileSync(join(folder, part), join(target, part));
}

/** Those of the release before, and not those that it had kept itself. */
export function keepAssets(from: string, assets: string): void {
  const kept = join(assets, "before");
  mkdirSync(kept, { recursive: true });
  for (const { name } of readdirSync(from, { withFileTypes: true }).filter((entry) => entry.isFile()))
    if (!existsSync(join(assets, name))) copyFileSync(join(from, name), join(kept, name));
}
