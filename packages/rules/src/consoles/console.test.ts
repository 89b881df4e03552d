import { describe, expect, test } from "vitest";
import { consoleLimits, decideConsole, type LiveSession, planSession } from "./console.ts";

const server = {
  id: "srv_1",
  status: "running",
  powerState: "on",
  lockedFor: null,
  managedBy: null,
} as const;
const wanted = { type: "serial", subject: "usr_1", takeOver: false } as const;
const session = (id: string, more: Partial<LiveSession> = {}): LiveSession => ({
  id,
  serverId: "srv_1",
  type: "serial",
  subject: "usr_1",
  ...more,
});

describe("whether a server has a console", () => {
  test.each([
    ["running", "on", null],
    ["starting", "off", null],
    ["stopping", "on", null],
    ["error", "on", null],
    ["stopped", "off", "invalid_state"],
    ["error", "unknown", "invalid_state"],
    ["creating", "on", "invalid_state"],
    ["pending_deletion", "on", "resource_deleting"],
    ["deleting", "on", "resource_deleting"],
  ] as const)("%s with power %s: %s", (status, powerState, code) => {
    expect(decideConsole({ status, powerState, lockedFor: null, managedBy: null }).code).toBe(code);
  });
});

test("a server that an operator has locked has none", () => {
  expect(decideConsole({ ...server, lockedFor: "abuse" }).code).toBe("locked");
});

describe("a new session", () => {
  test("replaces one's own on the serial line", () => {
    expect(planSession(wanted, server, [session("con_1")])).toEqual({ ended: ["con_1"], refusals: [] });
  });

  test("does not end another person's unless requested", () => {
    const live = [session("con_1", { subject: "usr_2" })];
    const { ended, refusals } = planSession(wanted, server, live);
    expect([ended, refusals.map(({ code }) => code)]).toEqual([[], ["console_in_use"]]);
    expect(planSession({ ...wanted, takeOver: true }, server, live)).toEqual({
      ended: ["con_1"],
      refusals: [],
    });
  });

  test("minds neither other servers nor the other kind", () => {
    const live = [
      session("con_1", { serverId: "srv_2" }),
      session("con_2", { type: "vnc", subject: "usr_2" }),
    ];
    expect(planSession(wanted, server, live)).toEqual({ ended: [], refusals: [] });
  });

  test("allows several viewers of one screen, up to the limit", () => {
    const vnc = { ...wanted, type: "vnc" } as const;
    const live = Array.from({ length: consoleLimits.vncPerServer }, (_, n) =>
      session(`con_${n}`, { type: "vnc" }),
    );
    expect(planSession(vnc, server, live.slice(1))).toEqual({ ended: [], refusals: [] });
    expect(planSession(vnc, server, live).refusals[0]?.code).toBe("console_in_use");
  });

  test("is refused at the limits of a user and of the organisation", () => {
    const elsewhere = (count: number, subject: string) =>
      Array.from({ length: count }, (_, n) => session(`con_${n}`, { serverId: `srv_x${n}`, subject }));
    expect(planSession(wanted, server, elsewhere(10, "usr_1")).refusals[0]?.name).toBe(
      "quota_consoles_of_user",
    );
    expect(planSession(wanted, server, elsewhere(50, "usr_2")).refusals[0]?.name).toBe(
      "quota_consoles_of_organisation",
    );
    expect(planSession(wanted, server, elsewhere(49, "usr_2")).refusals).toEqual([]);
  });
});
