import { expect, test } from "vitest";
import { messagesOf } from "../../messages/messages.ts";
import { fakeJob } from "../../testing/fake-records.ts";
import { jobName, jobSubject } from "./title.ts";

const job = fakeJob("ServerPower", "srv_1", "Ada");

test("a power action has its own name, with its target", () => {
  expect(jobName(messagesOf("en"), { ...job, action: "reboot" })).toBe("Reboot");
  expect(jobName(messagesOf("tr"), { ...job, action: "shutdown" })).toBe("Kapat");
  const named = { ...job, action: "stop", resource: { ...job.resource, name: "web-1" } };
  expect(jobSubject(messagesOf("en"), named)).toBe("Stop · web-1");
});

test("a job without a name of its own has the name of its kind", () => {
  const en = messagesOf("en");
  for (const action of [null, "toString", "dance"]) expect(jobSubject(en, { ...job, action })).toBe("Power");
  expect(jobName(en, { kind: "NetworkApply", action: "reboot" })).toBe("Apply network");
});
