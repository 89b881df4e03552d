import { expect, it } from "vitest";
import { parseJobNote, withChangeNoted, withJobNote } from "./job-note.ts";
import { parseMarker, renderMarker } from "./marker.ts";

const marker = renderMarker({ serverId: "srv_1", organisationId: "org_1", region: "ist1", jobId: "job_1" });

it("A note is read back next to the marker, and replaces the one before it", () => {
  const first = withJobNote(marker, { jobId: "job_2", facts: { process: "pve1:4711" } });
  expect(parseJobNote(first)).toEqual({ jobId: "job_2", facts: { process: "pve1:4711" } });
  const second = withJobNote(`${first}\n`, { jobId: "job_3", facts: {} });
  expect(parseJobNote(second)).toEqual({ jobId: "job_3", facts: {} });
  expect(second.split("\n")).toHaveLength(2);
  expect(parseMarker(second)?.serverId).toBe("srv_1");
});

it("What an operator has written into the description stays", () => {
  const noted = withJobNote(`${marker}\nask Ada before you touch this`, { jobId: "job_2", facts: {} });
  expect(noted).toContain("ask Ada before you touch this");
  expect(parseJobNote("nothing of ours")).toBeNull();
});

it("A fact that would not be read back is refused", () => {
  expect(() => withJobNote(marker, { jobId: "job_2", facts: { process: "two words" } })).toThrow(TypeError);
});

it("A job is recorded with every change it makes, and keeps its earlier notes", () => {
  const before = withJobNote(marker, { jobId: "job_2", facts: { process: "pve1:4711" } });
  expect(withChangeNoted(before, "job_2")).toBe(before);
  expect(parseJobNote(withChangeNoted(before, "job_3"))).toEqual({ jobId: "job_3", facts: {} });
  expect(parseJobNote(withChangeNoted(undefined, "job_3"))?.jobId).toBe("job_3");
});

it("A job that is retried after another one does not restore an earlier description", () => {
  const jobs = ["job_1", "job_2", "job_1", "job_2", "job_1"];
  const seen: string[] = [];
  for (const job of jobs) seen.push(withChangeNoted(seen.at(-1) ?? marker, job));
  expect(new Set(seen).size).toBe(jobs.length);
  expect(parseJobNote(seen.at(-1))).toEqual({ jobId: "job_1", facts: {} });
  // The notes of one job belong to one turn.
  const noted = withJobNote(seen.at(-1), { jobId: "job_1", facts: { process: "pve1:4711" } });
  expect(noted).toContain("kule:job job_1 turn=5 process=pve1:4711");
  expect(withChangeNoted(noted, "job_1")).toBe(noted);
});
