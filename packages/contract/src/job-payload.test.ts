import { describe, expect, it } from "vitest";
import { validateJobPayload } from "./validate.ts";

const stop = {
  kind: "ServerStop",
  server: { id: "srv_1", organisation_id: "org_1", name: "web" },
  vmid: 20000,
};

describe("a job's payload", () => {
  it("may contain fields that an older agent does not support", () => {
    const newer = { ...stop, grace_seconds: 60, server: { ...stop.server, labels: {} } };
    expect(validateJobPayload(newer)).toEqual({ ok: true, value: newer });
  });

  it("must contain what its kind needs", () => {
    const { vmid: _, ...incomplete } = stop;
    expect(validateJobPayload(incomplete)).toMatchObject({
      ok: false,
      errors: [{ field: "vmid", code: "required" }],
    });
  });

  it("must be of a known kind", () => {
    expect(validateJobPayload({ ...stop, kind: "ServerPaint" })).toMatchObject({ ok: false });
  });
});
