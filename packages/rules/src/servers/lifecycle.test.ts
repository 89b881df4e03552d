import { describe, expect, test } from "vitest";
import { actionsOf, decideAction, restoresTo, serverActions, serverStatuses } from "./lifecycle.ts";
import { powerActions } from "./power.ts";

const idle = {
  rebuildProtected: false,
  wasCreated: true,
  openJob: null,
  agentAnswers: null,
  passwordByAgentOnly: false,
  lockedFor: null,
  managedBy: null,
} as const;
const free = { deleteProtected: false, ...idle };

describe("actions", () => {
  test.each([
    "creating",
    "running",
    "stopped",
    "starting",
    "stopping",
    "rebooting",
    "resizing",
    "rebuilding",
    "error",
  ] as const)("a server that is %s can be deleted and changed, and has no removal to cancel", (status) => {
    expect(actionsOf({ status, ...free })).toMatchObject({
      delete: { allowed: true },
      update: { allowed: true },
      cancel_deletion: { allowed: false, code: "invalid_state" },
    });
  });

  test("a server in the removal buffer can be restored and nothing else", () => {
    expect(actionsOf({ status: "pending_deletion", ...free })).toMatchObject({
      cancel_deletion: { allowed: true },
      delete: { allowed: false, code: "resource_deleting" },
      update: { allowed: false, code: "resource_deleting" },
    });
  });

  test("nothing can be done to a server that is being destroyed", () => {
    for (const action of serverActions)
      expect(decideAction(action, { status: "deleting", ...free })).toMatchObject({
        allowed: false,
        code: "resource_deleting",
      });
  });

  test("protection forbids deleting and only that", () => {
    for (const status of serverStatuses) {
      const open = actionsOf({ status, ...free });
      const guarded = actionsOf({ status, ...free, deleteProtected: true });
      expect(guarded.delete.allowed).toBe(false);
      expect(guarded.update).toEqual(open.update);
      expect(guarded.cancel_deletion).toEqual(open.cancel_deletion);
      if (open.delete.allowed) expect(guarded.delete.code).toBe("protected");
      else expect(guarded.delete).toEqual(open.delete);
    }
  });

  test("power follows the status: what is ongoing, done or impossible is refused", () => {
    const allowedIn = (status: (typeof serverStatuses)[number]) => {
      const actions = actionsOf({ status, ...free });
      return powerActions.filter((action) => actions[action].allowed);
    };
    expect(allowedIn("running")).toEqual(["shutdown", "stop", "reboot", "reset"]);
    expect(allowedIn("stopped")).toEqual(["start"]);
    expect(allowedIn("error")).toEqual(["start", "stop"]);
    const others = serverStatuses.filter((each) => !["running", "stopped", "error"].includes(each));
    for (const status of others) expect(allowedIn(status)).toEqual([]);
    expect(actionsOf({ status: "error", ...free, wasCreated: false }).start.allowed).toBe(false);
  });

  test("a stop does not wait for a guest that is asked to shut down, but for everything else", () => {
    const waiting = (kind: string, action: string | null) =>
      decideAction("stop", { status: "stopping", ...free, openJob: { kind, action, isWaiting: true } })
        .allowed;
    expect(waiting("ServerPower", "shutdown")).toBe(true);
    expect(waiting("ServerPower", "reboot")).toBe(true);
    expect(waiting("ServerPower", "stop")).toBe(false);
    expect(waiting("ServerRestore", null)).toBe(false);
  });

  test("an action waits for the one before it", () => {
    const openJob = { kind: "ServerUpdate", action: null, isWaiting: true };
    const state = { status: "running", ...free, openJob } as const;
    for (const action of [...powerActions, "resize", "rebuild"] as const)
      expect(decideAction(action, state)).toMatchObject({ allowed: false, code: "invalid_state" });
    // Not of which kind: users do not know the kinds of jobs.
    const reason = "The server has an open job, which has to end first";
    for (const action of ["reboot", "resize", "rebuild"] as const)
      expect(decideAction(action, state)).toMatchObject({ reason });
    expect(decideAction("delete", state).allowed).toBe(true);
  });

  test("a rebuild supersedes a queued job of the firewalls, and no running one", () => {
    const during = (isWaiting: boolean) =>
      actionsOf({ status: "running", ...free, openJob: { kind: "FirewallApply", action: null, isWaiting } });
    expect(during(true).rebuild.allowed).toBe(true);
    expect(during(false).rebuild).toMatchObject({ allowed: false, code: "invalid_state" });
    for (const action of ["reboot", "resize", "rename", "password_reset"] as const)
      expect(during(true)[action]).toMatchObject({ allowed: false, code: "invalid_state" });
  });

  test("a locked server refuses everything, in the operator's words", () => {
    for (const status of serverStatuses)
      for (const decision of Object.values(actionsOf({ status, ...free, lockedFor: "abuse report 7" })))
        expect(decision).toMatchObject({
          allowed: false,
          code: "locked",
          reason: expect.stringContaining("abuse report 7"),
        });
  });

  test("every refusal says why", () => {
    for (const status of serverStatuses)
      for (const decision of Object.values(actionsOf({ status, ...free, deleteProtected: true })))
        if (!decision.allowed) expect(decision.reason).toMatch(/^The server .+/);
  });
});

test.each([
  ["running", true, true, "running"],
  ["starting", true, false, "running"],
  ["stopped", true, false, "stopped"],
  ["stopping", true, true, "stopped"],
  ["rebooting", true, true, "running"],
  ["resizing", true, true, "running"],
  ["rebuilding", true, false, "stopped"],
  ["error", true, true, "running"],
  ["error", true, false, "stopped"],
  ["error", false, false, "error"],
  ["creating", false, false, "error"],
] as const)("a server %s (made: %s, power on: %s) is restored to %s", (status, made, on, expected) => {
  expect(restoresTo(status, made, on)).toBe(expected);
});

test("a password is set at once by a guest agent that answers, or that was not queried yet; a Windows has no other way", () => {
  const now = (status: "running" | "stopped", agentAnswers: boolean | null) =>
    decideAction("password_reset_now", { ...idle, status, deleteProtected: false, agentAnswers });
  expect(now("running", true).allowed).toBe(true);
  expect(now("running", null).allowed).toBe(true);
  expect(now("running", false)).toMatchObject({ allowed: false, code: "guest_agent_unavailable" });
  expect(now("stopped", null)).toMatchObject({ allowed: false, code: "guest_agent_unavailable" });
  const windows = (action: "password_reset" | "password_reset_now", status: "running" | "stopped") =>
    decideAction(action, { ...idle, status, deleteProtected: false, passwordByAgentOnly: true });
  for (const status of ["running", "stopped"] as const)
    expect(windows("password_reset", status)).toEqual(windows("password_reset_now", status));
  expect([
    windows("password_reset", "running").allowed,
    windows("password_reset", "stopped").allowed,
  ]).toEqual([true, false]);
  const deleting = { ...idle, deleteProtected: false, agentAnswers: false } as const;
  expect(decideAction("password_reset_now", { ...deleting, status: "deleting" })).toMatchObject({
    code: "resource_deleting",
  });
});
