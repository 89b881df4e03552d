// A control plane for one agent, as a process that can run in a guest's network: it is told by lines of JSON what to offer, and
// prints the health reports that it gets.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { FakeControlPlane } from "@kule/agent/testing/fake-control-plane";
import type { Envelope } from "@kule/agent-release/envelope";

export type Told = {
  /** A release of which it has the file at this path. */
  readonly release?: { readonly version: string; readonly path: string; readonly manifest: Envelope };
  readonly updateTo?: string | null;
};

const fake = await FakeControlPlane.start();
fake.longestWaitSeconds = 1;
console.log(JSON.stringify({ url: fake.url }));
let shown = 0;
setInterval(() => {
  for (const report of fake.health.slice(shown)) console.log(JSON.stringify({ report }));
  shown = fake.health.length;
}, 100);
createInterface({ input: process.stdin })
  .on("line", (line) => {
    const { release, updateTo } = JSON.parse(line) as Told;
    if (release !== undefined)
      fake.releases.set(release.version, { manifest: release.manifest, file: readFileSync(release.path) });
    if (updateTo !== undefined) fake.updateTo = updateTo;
  })
  .on("close", () => process.exit());
