import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { Failed, RetryLater } from "../errors.ts";
import { bring, isBrought, stateOf } from "../testing/killed-guest-state.ts";
import { noEffect, StateGuest } from "../testing/state-guest.ts";
import { bundleName, renderBundle } from "./bundle.ts";
import { applyGuestState, observeGuestState, planGuestState } from "./guest-state.ts";

const guests: StateGuest[] = [];
afterEach(() => {
  for (const guest of guests.splice(0)) guest.close();
});

function newGuest(): StateGuest {
  const guest = new StateGuest();
  guests.push(guest);
  return guest;
}

describe("A state of a guest", () => {
  test("is in force with its files, modes and units, and is seen to be", async () => {
    const guest = newGuest();
    const bundle = renderBundle(stateOf(1));
    await bring(guest, bundle);
    expect(await isBrought(guest, bundle)).toBe(true);
    expect(guest.read("app/config")).toBe("generation 1\n");
    const files = join(guest.directory, "root/current/files");
    expect(["app/config", "app/key.pem"].map((path) => statSync(join(files, path)).mode & 0o777)).toEqual([
      0o644, 0o600,
    ]);
    expect(statSync(join(guest.directory, "root")).mode & 0o777).toBe(0o700);
    expect(guest.units()).toEqual(["enable --quiet app.service", "reload-or-restart app.service"]);
  });

  test("that is larger than Proxmox takes at once is sent in parts, and only what is missing of it", async () => {
    const guest = newGuest();
    const random = randomBytes(100_000);
    const bundle = renderBundle(
      stateOf(1, {
        files: [
          { path: "app/config", mode: 0o600, content: "generation 1" },
          { path: "big", mode: 0o600, content: random },
        ],
      }),
    );
    expect(bundle.text.length).toBeGreaterThan(100_000);
    await guest.hypervisor.runInGuest(
      guest.vmid,
      guest.owner,
      { argv: ["kule-state", "receive", "1", bundle.sha256, "0"], input: bundle.text.slice(0, 30_000) },
      noEffect,
    );
    await bring(guest, bundle);
    expect(await isBrought(guest, bundle)).toBe(true);
    const offsets = guest.calls.filter(([command]) => command === "receive").map((call) => Number(call[3]));
    expect(offsets.slice(0, 3)).toEqual([0, 30_000, 30_000 + 48 * 1024]);
  });

  test("that was received twice, or in a part that was cut off, is the same", async () => {
    const guest = newGuest();
    const bundle = renderBundle(stateOf(1));
    const send = (offset: number, input: string) =>
      guest.hypervisor.runInGuest(
        guest.vmid,
        guest.owner,
        { argv: ["kule-state", "receive", "1", bundle.sha256, String(offset)], input },
        noEffect,
      );
    await send(0, bundle.text.slice(0, 100));
    await send(100, bundle.text.slice(100, 150));
    await send(100, bundle.text.slice(100));
    await send(0, bundle.text);
    await applyGuestState(guest, bundle, noEffect);
    expect(guest.read("app/config")).toBe("generation 1\n");
    expect((await send(1, "x"))?.exitCode).toBe(3);
  });

  test("replaces the one before, of which nothing is left", async () => {
    const guest = newGuest();
    for (const generation of [1, 5]) await bring(guest, renderBundle(stateOf(generation)));
    expect(guest.read("app/config")).toBe("generation 5\n");
    expect(readdirSync(join(guest.directory, "root/states"))).toHaveLength(1);
    expect(readdirSync(join(guest.directory, "root/incoming"))).toEqual([]);
    expect(readdirSync(join(guest.directory, "root")).toSorted()).toEqual([
      ...["applied", "current", "incoming", "lock", "states"],
    ]);
  });

  test("is never an older one than that in force", async () => {
    const guest = newGuest();
    await bring(guest, renderBundle(stateOf(2)));
    const older = renderBundle(stateOf(1));
    await expect(bring(guest, older)).rejects.toMatchObject({ facts: { code: "guest_state_superseded" } });
    expect(guest.read("app/config")).toBe("generation 2\n");
  });

  test.each([
    ["is not valid", { validate: ["false"] }],
    ["cannot be started", { units: [{ name: "missing.service", change: "restart" as const }] }],
    ["does not pass its check", { check: ["sh", "-c", "echo it is wrong >&2; exit 1"] }],
  ])("that %s is refused, and the one before stays in force", async (_, more) => {
    const guest = newGuest();
    const before = renderBundle(stateOf(1));
    await bring(guest, before);
    writeFileSync(
      join(guest.directory, "bin/systemctl"),
      `#!/bin/sh\necho "$@" >> ${guest.directory}/systemctl.log\ncase "$*" in *missing*) exit 5;; esac\n`,
    );
    const refused = await bring(guest, renderBundle(stateOf(2, more))).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(Failed);
    expect(refused).toMatchObject({ facts: { code: "guest_state_refused" } });
    expect(guest.read("app/config")).toBe("generation 1\n");
    expect(await isBrought(guest, before)).toBe(true);
    expect(guest.units().at(-1)).toBe("reload-or-restart app.service");
  });

  test("whose check fails later is put in force again", async () => {
    const guest = newGuest();
    const bundle = renderBundle(stateOf(1));
    await bring(guest, bundle);
    const config = join(guest.directory, "root/current/files/app/config");
    writeFileSync(config, "somebody else's");
    const seen = await observeGuestState(guest, noEffect);
    expect([seen.passesCheck, planGuestState(bundle, seen)]).toEqual([false, ["apply-state"]]);
  });

  test("that was damaged on its way is refused before anything changes", async () => {
    const guest = newGuest();
    await bring(guest, renderBundle(stateOf(1)));
    const bundle = renderBundle(stateOf(2));
    const damaged = { ...bundle, text: `${bundle.text.slice(0, -60)}${"A".repeat(60)}` };
    await expect(bring(guest, damaged)).rejects.toBeInstanceOf(RetryLater);
    expect(guest.read("app/config")).toBe("generation 1\n");
  });

  test("names no secret in an argument", async () => {
    const guest = newGuest();
    await bring(guest, renderBundle(stateOf(1)));
    expect(JSON.stringify(guest.calls)).not.toContain("swordfish");
    expect(guest.calls.flat().every((argument) => argument.length <= 64)).toBe(true);
  });

  test("cannot name a file outside of it, a unit that is none, or be larger than the guest takes", () => {
    for (const path of ["/etc/passwd", "../x", "a/../x", "a//b", "", "a b", "x".repeat(91)])
      expect(() => renderBundle(stateOf(1, { files: [{ path, mode: 0o600, content: "" }] }))).toThrow(
        /no path/,
      );
    for (const name of ["x; reboot.service", "ssh", "", "../x.service"])
      expect(() => renderBundle(stateOf(1, { units: [{ name, change: "restart" }] }))).toThrow(/no name/);
  });

  test("is a tar file that tar reads, the same bytes each time, whatever its files and arguments contain", () => {
    const state = stateOf(1, {
      files: [
        { path: "empty", mode: 0o600, content: "" },
        { path: "bytes", mode: 0o600, content: new Uint8Array([0, 255, 10]) },
      ],
      check: ["test", "it's $(reboot) `x` \"\n", "=", "it's $(reboot) `x` \"\n"],
    });
    const bundle = renderBundle(state);
    expect(bundleName(renderBundle(structuredClone(state)))).toBe(bundleName(bundle));
    const listed = spawnSync("tar", ["-tzv"], {
      input: Buffer.from(bundle.text, "base64"),
      encoding: "utf8",
    });
    expect([listed.status, listed.stderr]).toEqual([0, ""]);
    expect(listed.stdout.match(/files\/(empty|bytes)|validate|activate|check/g)).toHaveLength(5);
  });
});
