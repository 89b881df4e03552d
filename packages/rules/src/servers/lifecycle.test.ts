import { describe, expect, test } from "vitest";
import { actionsOf, decideAction, restoresTo, serverActions, serverStatuses } from "./lifecycle.ts";

const free = { deleteProtected: false };

describe("actions", () => {
  test.each(["creating", "running", "stopped", "starting", "stopping", "error"] as const)(
    "a server that is %s can be deleted and changed, and has no removal to cancel",
    (status) => {
      expect(actionsOf({ status, ...free })).toMatchObject({
        delete: { allowed: true },
        update: { allowed: true },
        cancel_deletion: { allowed: false, code: "invalid_state" },
      });
    },
  );

  test("a server in the removal buffer can be taken out of it and nothing else", () => {
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
      const open = actionsOf({ status, deleteProtected: false });
      const guarded = actionsOf({ status, deleteProtected: true });
      expect(guarded.delete.allowed).toBe(false);
      expect(guarded.update).toEqual(open.update);
      expect(guarded.cancel_deletion).toEqual(open.cancel_deletion);
      if (open.delete.allowed) expect(guarded.delete.code).toBe("protected");
      else expect(guarded.delete).toEqual(open.delete);
    }
  });

  test("every refusal says why", () => {
    for (const status of serverStatuses)
      for (const decision of Object.values(actionsOf({ status, deleteProtected: true })))
        if (!decision.allowed) expect(decision.reason).toMatch(/^The server .+/);
  });
});

test.each([
  ["running", true, true, "running"],
  ["starting", true, false, "running"],
  ["stopped", true, false, "stopped"],
  ["stopping", true, true, "stopped"],
  ["error", true, true, "running"],
  ["error", true, false, "stopped"],
  ["error", false, false, "error"],
  ["creating", false, false, "error"],
] as const)("a server %s (made: %s, power on: %s) is restored to %s", (status, made, on, expected) => {
  expect(restoresTo(status, made, on)).toBe(expected);
});
