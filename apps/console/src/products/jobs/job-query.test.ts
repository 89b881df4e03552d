import { expect, test } from "vitest";
import { askedJobs, isJobListNarrowed, jobParameters, readJobQuery } from "./job-query.ts";

const kinds = { ServerCreate: "Create server", NetworkApply: "Apply network" };
const read = (address: string) => readJobQuery(new URLSearchParams(address), kinds);

test("an address narrows the list, and says so again", () => {
  const query = read("status=failed&kind=NetworkApply&region=ist1&cursor=abc");
  expect(isJobListNarrowed(query)).toBe(true);
  expect(askedJobs(query, 20)).toEqual({
    limit: 20,
    status: ["failed"],
    kind: ["NetworkApply"],
    region: "ist1",
    cursor: "abc",
  });
  expect(jobParameters(query).toString()).toBe("status=failed&kind=NetworkApply&region=ist1&cursor=abc");
});

test("what makes no sense narrows nothing", () => {
  const query = read("status=great&kind=toString&cursor=");
  expect(isJobListNarrowed(query)).toBe(false);
  expect(askedJobs(query, 50)).toEqual({ limit: 50 });
  expect(jobParameters(query).size).toBe(0);
});
