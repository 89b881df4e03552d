import { describe, expect, test } from "vitest";
import { decideCancel, decideRetry, isDone } from "./actions.ts";

test("queued and running jobs are open, the others done", () => {
  expect((["queued", "running", "succeeded", "failed", "cancelled"] as const).map(isDone)).toEqual([
    false,
    false,
    true,
    true,
    true,
  ]);
});

describe("cancelling", () => {
  test.each([
    ["ServerCreate", "queued", false, true],
    ["ServerCreate", "running", false, true],
    ["ServerCreate", "running", true, false],
    ["ServerCreate", "succeeded", false, false],
    ["ServerCreate", "cancelled", false, false],
    ["ServerStop", "queued", false, false],
    ["ServerRestore", "queued", false, false],
    ["ServerDestroy", "queued", false, false],
  ] as const)("%s %s (irreversible: %s): %s", (kind, status, irreversible, allowed) => {
    expect(decideCancel({ kind, status, irreversible }).allowed).toBe(allowed);
  });
});

describe("trying again", () => {
  const failed = { status: "failed", isOvertaken: false, irreversible: true } as const;
  test.each([
    ["ServerCreate", "error", false, true],
    ["ServerCreate", "error", true, false],
    ["ServerCreate", "running", true, false],
    ["ServerRestore", "error", true, true],
    ["ServerRestore", "error", false, false],
    ["ServerStop", "pending_deletion", true, true],
    ["ServerStop", "running", true, false],
    ["ServerDestroy", "deleting", true, true],
    ["ServerDestroy", "deleted", true, false],
    ["ServerResize", "running", true, true],
    ["ServerResize", "pending_deletion", true, false],
    ["ServerPower", "running", true, false],
    ["ServerRebuild", "error", true, true],
    ["ServerRebuild", "running", true, false],
    ["NetworkApply", "error", true, false],
  ] as const)(
    "a failed %s of a server that is %s (was created: %s): %s",
    (kind, status, wasCreated, allowed) => {
      const server = { status, wasCreated, hasOpenJob: false, isLocked: false };
      expect(decideRetry({ kind, ...failed }, server).allowed).toBe(allowed);
      expect(decideRetry({ kind, ...failed }, { ...server, hasOpenJob: true }).allowed).toBe(false);
      expect(decideRetry({ kind, ...failed }, { ...server, isLocked: true }).allowed).toBe(false);
      expect(decideRetry({ kind, ...failed, isOvertaken: true }, server).allowed).toBe(false);
    },
  );

  test("an open or successful job is not tried again", () => {
    const server = { status: "error", wasCreated: false, hasOpenJob: false, isLocked: false } as const;
    for (const status of ["queued", "running", "succeeded"] as const)
      expect(decideRetry({ kind: "ServerCreate", ...failed, status }, server).allowed).toBe(false);
    const cancelled = { ...failed, status: "cancelled", irreversible: false } as const;
    expect(decideRetry({ kind: "ServerCreate", ...cancelled }, server).allowed).toBe(true);
  });

  test("a rebuild that has destroyed nothing is no remedy for what broke the server later", () => {
    const server = { status: "error", wasCreated: true, hasOpenJob: false, isLocked: false } as const;
    expect(decideRetry({ kind: "ServerRebuild", ...failed, irreversible: false }, server).allowed).toBe(
      false,
    );
  });
});
