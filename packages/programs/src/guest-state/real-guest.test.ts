// The state of an appliance in a guest that really boots: its own shell and systemd, its guest agent, its disk.

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { ProxmoxClient } from "@kule/proxmox/client";
import { runInGuest } from "@kule/proxmox/guest-agent";
import { systemRuntime } from "@kule/proxmox/runtime";
import { IMAGE_TIMEOUT_MS, requireRealGuests } from "@kule/testing/real-guests/real-guests-part";
import { BOOT_MS, RealLab, vm } from "@kule/testing/real-guests/real-lab";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Failed, RetryLater } from "../errors.ts";
import { bring, isBrought } from "../testing/killed-guest-state.ts";
import { noEffect, owner, stateScript } from "../testing/state-guest.ts";
import { bundleName, type GuestState, renderBundle } from "./bundle.ts";
import { type GuestOf, observeGuestState } from "./guest-state.ts";

const part = await requireRealGuests(import.meta.filename);
const VMID = 20_001;
const SECRET = "swordfish-in-a-bundle";
const files = "/var/lib/kule-state/current/files";
/** What an image of an appliance has besides the script: its unit reads the files of the state. */
const unit = `[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/bin/cp ${files}/demo/text /run/demo
ExecReload=/bin/cp ${files}/demo/text /run/demo
[Install]
WantedBy=multi-user.target
`;

function stateOf(generation: number, more: Partial<GuestState> = {}): GuestState {
  return {
    generation,
    files: [
      { path: "demo/text", mode: 0o644, content: `generation ${generation}\n` },
      { path: "demo/key.pem", mode: 0o600, content: SECRET },
    ],
    validate: ["test", "-s", "demo/text"],
    units: [{ name: "demo.service", change: "reload" }],
    check: ["cmp", "demo/text", "/run/demo"],
    ...more,
  };
}

describe.skipIf(part.missing)("A state of a real guest", { timeout: 3 * BOOT_MS }, () => {
  let lab: RealLab;
  let client: ProxmoxClient;
  let guest: GuestOf;

  beforeAll(async () => {
    lab = await RealLab.start();
    client = new ProxmoxClient({
      endpoints: [lab.lab.url],
      tokenId: lab.lab.operatorTokenId,
      tokenSecret: lab.lab.operatorTokenSecret,
      tls: { fingerprints: [lab.lab.fingerprint256] },
    });
    guest = {
      vmid: VMID,
      owner,
      hypervisor: {
        runInGuest: (vmid, _owner, command) =>
          runInGuest(client, systemRuntime, { node: "pve1", vmid }, command, {}),
      },
    };
    await lab.create(VMID);
    await lab.booted(VMID);
    const root = resolve(import.meta.dirname, "../../../..");
    await write("/usr/local/sbin/kule-state", readFileSync(resolve(root, stateScript), "utf8"));
    await write("/etc/systemd/system/demo.service", unit);
    await said("chmod 755 /usr/local/sbin/kule-state && systemctl daemon-reload");
  }, IMAGE_TIMEOUT_MS);
  afterAll(async () => {
    client?.close();
    await lab?.end();
  });

  async function write(file: string, content: string): Promise<void> {
    const { status, reason } = await lab.call(`POST ${vm(VMID)}/agent/file-write`, { file, content });
    expect(status, reason).toBe(200);
  }
  /** The output of a command line that must succeed. */
  async function said(line: string): Promise<string> {
    const { exitcode, out } = await lab.shell(VMID, line);
    expect(exitcode, `${line}: ${out}`).toBe(0);
    return out;
  }

  test("is in force with its files and units, and its secrets are nowhere else", async () => {
    const random = { path: "random", mode: 0o600, content: randomBytes(100_000) };
    const first = renderBundle(stateOf(1, { files: [...stateOf(1).files, random] }));
    await bring(guest, first);
    expect(await isBrought(guest, first)).toBe(true);
    const bundle = renderBundle(stateOf(2));
    await bring(guest, bundle);
    expect(await isBrought(guest, bundle)).toBe(true);
    expect(await said("cat /run/demo; systemctl is-enabled demo; systemctl is-active demo")).toBe(
      "generation 2\nenabled\nactive",
    );
    expect(await said(`stat -c '%a %U' ${files}/demo/key.pem /var/lib/kule-state`)).toBe(
      "600 root\n700 root",
    );
    // The guest's agent logs each command: the pattern must not find itself.
    expect(
      await said(`journalctl --no-pager | grep -c '[s]${SECRET.slice(1)}'; ls /var/lib/kule-state/incoming`),
    ).toBe("0");
  });

  test("that is not valid is refused, and says why to nobody but the operator's log", async () => {
    const invalid = stateOf(3, { validate: ["sh", "-c", "echo demo is wrong >&2; exit 1"] });
    const refused = await bring(guest, renderBundle(invalid)).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(Failed);
    expect(refused).toMatchObject({
      facts: {
        code: "guest_state_refused",
        message: expect.not.stringContaining("demo"),
        internal: expect.stringContaining("demo is wrong"),
      },
    });
    expect(await said("cat /run/demo")).toBe("generation 2");
  });

  test("is in force again after a reset in the middle of a change, which then succeeds", async () => {
    // Long enough to be interrupted, once.
    const slow = ["sh", "-c", "test -e /root/once || { touch /root/once; sync; sleep 14; }"];
    const bundle = renderBundle(stateOf(4, { validate: slow }));
    const interrupted = bring(guest, bundle).catch((error: unknown) => error);
    await expect
      .poll(() => lab.shell(VMID, "test -e /root/once").then(({ exitcode }) => exitcode), { timeout: 30_000 })
      .toBe(0);
    await lab.change(`POST ${vm(VMID)}/status/reset`);
    expect(await interrupted).toBeInstanceOf(RetryLater);
    await lab.booted(VMID);
    const seen = await observeGuestState(guest, noEffect);
    expect([seen.current, seen.passesCheck]).toEqual([bundleName(renderBundle(stateOf(2))), true]);
    await bring(guest, bundle);
    expect(await isBrought(guest, bundle)).toBe(true);
    expect(await said("cat /run/demo")).toBe("generation 4");
  });
});
