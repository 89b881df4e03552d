import { describe, expect, it } from "vitest";
import type { ProxmoxClient } from "./client.ts";
import { readGuestInterfaces, readGuestName, runInGuest } from "./guest-agent.ts";
import { endOf, processOf } from "./guest-answer.ts";
import { cloudInitState, guestAddresses, guestSystem } from "./guest-scan.ts";
import { systemRuntime } from "./runtime.ts";

/** A hypervisor that passes on any answer of the guest. */
const saying = (answer: unknown) => ({ call: async () => answer }) as unknown as ProxmoxClient;
const path = { node: "pve1", vmid: 20_000 };
const limits = { deadlineMilliseconds: 1_000 };
const interfaces = (result: unknown) => readGuestInterfaces(saying({ result }), path);

describe("What a guest's agent answers", () => {
  const odd = [null, 1, "text", [], {}, [null], [[null]], [{ "hardware-address": 7, "ip-addresses": "x" }]];

  it("may have any shape: parts that are no interface are left out", async () => {
    for (const answer of [null, undefined, 3, "x", [], {}])
      expect(await readGuestInterfaces(saying(answer), path)).toBeNull();
    for (const result of odd) await expect(interfaces(result)).resolves.not.toThrow();
    const mac = "BC:24:11:00:00:01";
    const entry = (more: object) => ({ "ip-address": "10.0.0.2", prefix: 24, ...more });
    expect(
      await interfaces([
        null,
        { "hardware-address": { toLowerCase: 1 } },
        { "hardware-address": "x".repeat(1e6), "ip-addresses": [] },
        {
          "hardware-address": mac,
          "ip-addresses": [
            null,
            entry({}),
            entry({ prefix: "24" }),
            entry({ prefix: 1e9 }),
            entry({ "ip-address": "10.0.0.3; reboot" }),
            entry({ "ip-address": ["10.0.0.4"] }),
            entry({ "ip-address": "FE80::1", prefix: 64 }),
            entry({ "ip-address": "FD00::2", prefix: 64 }),
          ],
        },
      ]),
    ).toEqual([{ mac: mac.toLowerCase(), addresses: ["10.0.0.2/24", "fd00::2/64"] }]);
  });

  it("is bounded in number", async () => {
    const mac = "bc:24:11:00:00:01";
    const addresses = Array.from({ length: 500 }, () => ({ "ip-address": "10.0.0.2", prefix: 24 }));
    const one = { "hardware-address": mac, "ip-addresses": addresses };
    const seen = await interfaces(Array.from({ length: 500 }, () => one));
    expect(seen).toHaveLength(64);
    expect(seen?.[0]?.addresses).toHaveLength(64);
  });

  it("is a name only when it is a text that can be one", async () => {
    const name = (answer: unknown) => readGuestName(saying(answer), path);
    for (const answer of [null, 5, {}, { result: null }, { result: { "host-name": 3 } }, { result: [] }])
      expect(await name(answer)).toBeNull();
    expect(await name({ result: { "host-name": "x".repeat(254) } })).toBeNull();
    expect(await name({ result: { "host-name": "web-1" } })).toBe("web-1");
  });

  it("is a process and its end only when it says so", () => {
    for (const answer of [null, 5, "x", [], {}, { pid: null }, { pid: "x" }, { pid: [7] }])
      expect(processOf(answer)).toBeNull();
    expect([processOf({ pid: 7 }), processOf({ pid: "7" })]).toEqual([7, 7]);
    for (const answer of [null, 5, "x", [], {}, { exited: null }, { exited: 0 }, { exited: { a: 1 } }])
      expect(endOf(answer)).toBeNull();
    for (const exitcode of [null, "x", [0], {}]) expect(endOf({ exited: 1, exitcode })?.exitCode).toBe(-1);
    expect(endOf({ exited: true, exitcode: "3", "out-data": "x" })).toEqual({ exitCode: 3, output: "x" });
  });

  it("is the output of a program up to 256 KiB, and none when it is longer", async () => {
    const output = async (length: number) => {
      const answer = { pid: 7, exited: 1, exitcode: 0, "out-data": "x".repeat(length) };
      return (await runInGuest(saying(answer), systemRuntime, path, { argv: ["status"] }, {}))?.output.length;
    };
    expect(await output(262_144)).toBe(262_144);
    expect(await output(262_145)).toBe(0);
  });

  it("is a system and addresses only as texts of a length that can be kept", async () => {
    const system = (result: unknown) => guestSystem(saying({ result }), path, limits);
    for (const result of odd) expect(await system(result)).toEqual({ os: null, hostname: null });
    expect(await system({ "pretty-name": "x".repeat(1e6), "host-name": "web-1" })).toEqual({
      os: "x".repeat(200),
      hostname: "web-1",
    });
    const addresses = (result: unknown) => guestAddresses(saying({ result }), path, limits);
    for (const result of odd) expect(await addresses(result)).toEqual([]);
    const all = [null, 3, {}, { "ip-address": "10.0.0.2" }, { "ip-address": "10.0.0.3; reboot" }];
    expect(await addresses([{ name: "eth0", "ip-addresses": all }])).toEqual(["10.0.0.2"]);
  });

  it("is no state of cloud-init when it is of another type, or too much", () => {
    for (const output of [null, 3, {}, [], `{"status":"done","more":"${"x".repeat(70_000)}"}`])
      expect(cloudInitState(output)).toBe("unknown");
    expect(cloudInitState('{"status":"done"}')).toBe("done");
  });
});
