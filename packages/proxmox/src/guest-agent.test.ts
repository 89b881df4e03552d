import { describe, expect, it } from "vitest";
import type { ProxmoxClient } from "./client.ts";
import { readGuestInterfaces, readGuestName } from "./guest-agent.ts";
import { cloudInitState } from "./guest-scan.ts";

/** A hypervisor that passes on any answer of the guest. */
const saying = (answer: unknown) => ({ call: async () => answer }) as unknown as ProxmoxClient;
const path = { node: "pve1", vmid: 20_000 };
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

  it("is no state of cloud-init when it is of another type, or too much", () => {
    for (const output of [null, 3, {}, [], `{"status":"done","more":"${"x".repeat(70_000)}"}`])
      expect(cloudInitState(output)).toBe("unknown");
    expect(cloudInitState('{"status":"done"}')).toBe("done");
  });
});
