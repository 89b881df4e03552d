import { expect, test } from "vitest";
import { messagesOf } from "../../messages/messages.ts";
import { jobRecord } from "../../testing/job-record.ts";
import { jobName, jobSubject } from "./title.ts";

const job = jobRecord({ kind: "ServerPower" });
/** Its server has been deleted. */
const alone = { ...job, resource: { ...job.resource, name: null } };

test("a power action has its own name, with its target", () => {
  expect(jobName(messagesOf("en"), { ...job, action: "reboot" })).toBe("Reboot");
  expect(jobName(messagesOf("tr"), { ...job, action: "shutdown" })).toBe("Kapat");
  expect(jobSubject(messagesOf("en"), { ...job, action: "stop" })).toBe("Stop · web-1");
});

test("a job without a name of its own has the name of its kind", () => {
  const en = messagesOf("en");
  for (const action of [null, "toString", "dance"])
    expect(jobSubject(en, { ...alone, action })).toBe("Power");
  expect(jobName(en, { kind: "NetworkApply", action: "reboot" })).toBe("Apply network");
});
