import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ServerStatus, serverStatuses } from "./lifecycle.ts";
import {
  type FinalOutcome,
  type ServerJobKind,
  type SettleFacts,
  settleServer,
  type UsageKind,
} from "./settle.ts";

const facts = (status: ServerStatus, more: Partial<SettleFacts> = {}): SettleFacts => ({
  status,
  powerState: "unknown",
  wantsRunning: true,
  runIsCounted: false,
  diskIsCounted: false,
  hasSuccessor: false,
  isIrreversible: false,
  diskIsBroken: false,
  diskHasGrown: false,
  ...more,
});
const made = { powerState: "on", runIsCounted: true, diskIsCounted: true } as const;
const outcome = (status: FinalOutcome["status"], power: FinalOutcome["power"] = null): FinalOutcome => ({
  status,
  power,
  message: "because",
});

describe("ServerCreate", () => {
  test("a created server runs, and its disk and run are counted from now on", () => {
    expect(settleServer("ServerCreate", facts("creating"), outcome("succeeded", "on"))).toMatchObject({
      status: "running",
      powerState: "on",
      wipesSecret: true,
      isApplied: true,
      usage: ["disk.allocated", "server.started"],
    });
  });

  test("one that was not to be started is stopped and only its disk is counted", () => {
    const settled = settleServer(
      "ServerCreate",
      facts("creating", { wantsRunning: false }),
      outcome("succeeded"),
    );
    expect(settled).toMatchObject({ status: "stopped", powerState: "off", usage: ["disk.allocated"] });
  });

  test("what the region observed counts more than what was wanted", () => {
    expect(settleServer("ServerCreate", facts("creating"), outcome("succeeded", "off"))).toMatchObject({
      status: "stopped",
      usage: ["disk.allocated"],
    });
  });

  test("a server deleted while it was created stays in the buffer and can now be restored", () => {
    expect(settleServer("ServerCreate", facts("pending_deletion"), outcome("succeeded", "on"))).toMatchObject(
      {
        status: "pending_deletion",
        restoresTo: "running",
        usage: ["disk.allocated", "server.started"],
      },
    );
  });

  test.each([
    ["failed", "create_failed"],
    ["cancelled", "create_cancelled"],
  ] as const)("a create that %s leaves an error, its allocations and its password", (status, code) => {
    expect(settleServer("ServerCreate", facts("creating"), outcome(status))).toMatchObject({
      status: "error",
      reason: { code, message: "because" },
      releasesAllocations: false,
      wipesSecret: false,
      usage: [],
    });
  });
});

describe("ServerStop", () => {
  test("a stopped server stays in the buffer and its run ends", () => {
    expect(settleServer("ServerStop", facts("pending_deletion", made), outcome("succeeded"))).toMatchObject({
      status: "pending_deletion",
      powerState: "off",
      usage: ["server.stopped"],
    });
  });

  test("a stop of what never ran counts nothing", () => {
    expect(settleServer("ServerStop", facts("pending_deletion"), outcome("succeeded")).usage).toEqual([]);
  });

  test("a failed stop is shown and keeps the server marked", () => {
    expect(settleServer("ServerStop", facts("pending_deletion", made), outcome("failed"))).toMatchObject({
      status: "pending_deletion",
      reason: { code: "stop_failed" },
      powerState: "on",
      usage: [],
    });
  });

  test("a stop that ends after the removal was cancelled does not mark the server again", () => {
    expect(settleServer("ServerStop", facts("starting", made), outcome("succeeded"))).toMatchObject({
      status: "starting",
      powerState: "off",
      usage: ["server.stopped"],
    });
  });
});

describe("ServerRestore", () => {
  const stopped = { powerState: "off", runIsCounted: false, diskIsCounted: true } as const;

  test("a restored server runs again and its run is counted", () => {
    expect(
      settleServer("ServerRestore", facts("starting", stopped), outcome("succeeded", "on")),
    ).toMatchObject({
      status: "running",
      reason: null,
      usage: ["server.started"],
    });
  });

  test("one that was stopped before stays stopped", () => {
    const before = facts("stopped", { ...stopped, wantsRunning: false });
    expect(settleServer("ServerRestore", before, outcome("succeeded", "off"))).toMatchObject({
      status: "stopped",
      usage: [],
    });
  });

  test("a failed restore is an error of the server", () => {
    expect(settleServer("ServerRestore", facts("starting", stopped), outcome("failed"))).toMatchObject({
      status: "error",
      reason: { code: "restore_failed" },
    });
  });
});

describe("ServerDestroy", () => {
  test("a destroyed server releases everything and all its usage ends", () => {
    expect(settleServer("ServerDestroy", facts("deleting", made), outcome("succeeded"))).toMatchObject({
      status: "deleted",
      releasesAllocations: true,
      wipesSecret: true,
      usage: ["server.stopped", "disk.released", "server.purged"],
    });
  });

  test.each(["failed", "cancelled"] as const)(
    "one that could not be destroyed (%s) keeps everything",
    (status) => {
      expect(settleServer("ServerDestroy", facts("deleting", made), outcome(status))).toMatchObject({
        status: "deleting",
        reason: { code: "destroy_failed" },
        releasesAllocations: false,
        usage: [],
      });
    },
  );
});

describe("PublicIpAttach", () => {
  test("a server that it finds off is stopped, whatever its record was", () => {
    const settled = settleServer("PublicIpAttach", facts("running", made), outcome("succeeded", "off"));
    expect(settled).toMatchObject({ status: "stopped", powerState: "off", usage: ["server.stopped"] });
    const found = facts("stopped", { ...made, powerState: "off", runIsCounted: false });
    expect(settleServer("PublicIpAttach", found, outcome("failed", "on"))).toMatchObject({
      status: "running",
      usage: ["server.started"],
    });
  });

  test("the status of a server with a queued job, or that cannot be used, stays", () => {
    const waiting = facts("running", { ...made, hasSuccessor: true });
    expect(settleServer("PublicIpAttach", waiting, outcome("succeeded", "off")).status).toBe("running");
    for (const status of ["pending_deletion", "error", "resizing"] as const)
      expect(settleServer("PublicIpDetach", facts(status, made), outcome("succeeded", "off")).status).toBe(
        status,
      );
  });
});

const anyKind = fc.constantFrom<ServerJobKind>(
  "ServerCreate",
  "ServerStop",
  "ServerRestore",
  "ServerDestroy",
  "ServerPower",
  "ServerResize",
  "ServerRebuild",
  "ServerPasswordReset",
  "ServerUpdate",
  "ServerReconcile",
  "FirewallApply",
);
const anyFacts = fc
  .record({
    status: fc.constantFrom(...serverStatuses),
    powerState: fc.constantFrom("on" as const, "off" as const, "unknown" as const),
    wantsRunning: fc.boolean(),
    runIsCounted: fc.boolean(),
    diskIsCounted: fc.boolean(),
    hasSuccessor: fc.boolean(),
    isIrreversible: fc.boolean(),
    diskIsBroken: fc.boolean(),
    diskHasGrown: fc.boolean(),
  })
  // A run is only ever counted of a server that has a disk.
  .map((found): SettleFacts => ({ ...found, runIsCounted: found.runIsCounted && found.diskIsCounted }));
const anyOutcome = fc.record({
  status: fc.constantFrom("succeeded" as const, "failed" as const, "cancelled" as const),
  power: fc.constantFrom("on" as const, "off" as const, "unknown" as const, null),
  message: fc.string(),
});

describe.each([
  ["ServerPower", "rebooting", "power_failed"],
  ["ServerResize", "resizing", "resize_failed"],
] as const)("%s", (kind, status, reason) => {
  test("leaves the server as the region has observed it", () => {
    expect(settleServer(kind, facts(status, made), outcome("succeeded", "on"))).toMatchObject({
      status: "running",
      reason: null,
      isApplied: true,
    });
    expect(settleServer(kind, facts(status, made), outcome("succeeded", "off"))).toMatchObject({
      status: "stopped",
      powerState: "off",
    });
  });

  test("that failed is shown with its reason, and the server is as it was last observed", () => {
    expect(settleServer(kind, facts(status, made), outcome("failed"))).toMatchObject({
      status: "running",
      reason: { code: reason, message: "because" },
      isApplied: false,
      usage: [],
    });
    expect(settleServer(kind, facts(status, made), outcome("failed", "off"))).toMatchObject({
      status: "stopped",
      reason: { code: reason },
      usage: ["server.stopped"],
    });
    expect(settleServer(kind, facts(status), outcome("failed")).status).toBe("error");
  });

  test("that was superseded leaves the status to the other job", () => {
    expect(
      settleServer(kind, facts("stopping", { ...made, hasSuccessor: true }), outcome("cancelled", "off")),
    ).toMatchObject({ status: "stopping", reason: "keep", powerState: "off", usage: ["server.stopped"] });
    expect(settleServer(kind, facts("pending_deletion", made), outcome("succeeded", "on")).status).toBe(
      "pending_deletion",
    );
  });
});

describe("a power action on a server that a rebuild has left without a disk", () => {
  const broken = (more: Partial<SettleFacts> = {}) =>
    facts("starting", { ...made, powerState: "off", runIsCounted: false, diskIsBroken: true, ...more });

  test("leaves it unusable when it fails, whatever the reason, and the rebuild its password", () => {
    for (const code of ["region_busy", "vm_incomplete", null])
      for (const power of [null, "off", "unknown"] as const)
        expect(settleServer("ServerPower", broken(), { ...outcome("failed", power), code })).toMatchObject({
          status: "error",
          reason: { code: "power_failed", message: "because" },
          wipesSecret: false,
        });
  });

  test("leaves it unusable when it fails, and names what is wrong with it", () => {
    expect(settleServer("ServerPower", broken(), outcome("cancelled"))).toMatchObject({
      status: "error",
      reason: { code: "rebuild_failed" },
      wipesSecret: false,
    });
  });

  test("makes it usable when it is seen to run, or has succeeded", () => {
    expect(settleServer("ServerPower", broken(), outcome("failed", "on"))).toMatchObject({
      status: "running",
      wipesSecret: false,
    });
    expect(settleServer("ServerPower", broken(), outcome("succeeded", "on"))).toMatchObject({
      status: "running",
      reason: null,
      wipesSecret: true,
    });
  });

  test("is like any other where the disk is intact", () => {
    expect(
      settleServer("ServerPower", broken({ diskIsBroken: false }), outcome("failed", "off")),
    ).toMatchObject({
      status: "stopped",
      wipesSecret: true,
    });
  });
});

describe("every job, whatever has become of the server in the meantime", () => {
  test("counts each run and each disk at most once, and closes only what is open", () => {
    fc.assert(
      fc.property(anyKind, anyFacts, anyOutcome, (kind, before, ended) => {
        const open = { "server.started": before.runIsCounted, "disk.allocated": before.diskIsCounted };
        const closes: { readonly [kind in UsageKind]?: "server.started" | "disk.allocated" } = {
          "server.stopped": "server.started",
          "disk.released": "disk.allocated",
        };
        for (const usage of settleServer(kind, before, ended).usage) {
          const closed = closes[usage];
          if (usage === "server.started" || usage === "disk.allocated") {
            expect(open[usage]).toBe(false);
            open[usage] = true;
          }
          if (closed !== undefined) {
            expect(open[closed]).toBe(true);
            open[closed] = false;
          }
        }
        if (open["server.started"]) expect(open["disk.allocated"]).toBe(true);
      }),
    );
  });

  test("releases allocations only with a destroy that succeeded, and then leaves nothing counted", () => {
    fc.assert(
      fc.property(anyKind, anyFacts, anyOutcome, (kind, before, ended) => {
        const settled = settleServer(kind, before, ended);
        const isDestroyed = kind === "ServerDestroy" && ended.status === "succeeded";
        expect(settled.releasesAllocations).toBe(isDestroyed);
        expect(settled.status === "deleted").toBe(isDestroyed);
        if (isDestroyed) expect(settled.usage.includes("disk.released")).toBe(before.diskIsCounted);
      }),
    );
  });

  test("never restores a server that is being deleted", () => {
    fc.assert(
      fc.property(anyKind, anyFacts, anyOutcome, (kind, before, ended) => {
        fc.pre(before.status === "pending_deletion" || before.status === "deleting");
        expect([before.status, "deleted"]).toContain(settleServer(kind, before, ended).status);
      }),
    );
  });
});

test("an interrupted rebuild leaves nothing that runs, and later requests do not make it usable", () => {
  const broken = settleServer(
    "ServerRebuild",
    { ...facts("rebuilding", { ...made, runIsCounted: true }), powerState: "on", isIrreversible: true },
    { ...outcome("failed"), code: "region_capacity" },
  );
  expect(broken).toMatchObject({ status: "error", powerState: "off", usage: ["server.stopped"] });
  for (const code of ["vm_missing", "vm_incomplete"])
    expect(
      settleServer(
        "ServerPower",
        { ...facts("starting", made), powerState: "off" },
        { ...outcome("failed"), code },
      ),
    ).toMatchObject({
      status: "error",
      reason: { code: code === "vm_missing" ? "vm_missing" : "power_failed" },
    });
  expect(
    settleServer("ServerPower", { ...facts("starting", made), powerState: "off" }, outcome("failed")),
  ).toMatchObject({ status: "stopped", reason: { code: "power_failed" } });
});

test("a failed resize divides the usage all the same when the disk has grown", () => {
  const before = facts("resizing", { ...made, diskHasGrown: true });
  for (const status of ["failed", "cancelled"] as const)
    expect(settleServer("ServerResize", before, outcome(status)).usage).toEqual(["server.resized"]);
  const asItWas = { ...before, diskHasGrown: false };
  expect(settleServer("ServerResize", asItWas, outcome("failed")).usage).toEqual([]);
  const notMade = { ...before, diskIsCounted: false, runIsCounted: false };
  expect(settleServer("ServerResize", notMade, outcome("failed")).usage).toEqual([]);
});
