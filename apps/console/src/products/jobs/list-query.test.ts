import { expect, test } from "vitest";
import { isJobListNarrowed, jobListParameters, jobParameters, readJobQuery } from "./list-query.ts";

const kinds = { ServerCreate: "Create server", NetworkApply: "Apply network" };
const read = (address: string) => readJobQuery(new URLSearchParams(address), kinds);

test("an address filters the list, and the list's address contains the filters again", () => {
  const query = read("status=failed&kind=NetworkApply&region=ist1&cursor=abc");
  expect(isJobListNarrowed(query)).toBe(true);
  expect(jobListParameters(query, 20)).toEqual({
    limit: 20,
    status: ["failed"],
    kind: ["NetworkApply"],
    region: "ist1",
    cursor: "abc",
  });
  expect(jobParameters(query).toString()).toBe("status=failed&kind=NetworkApply&region=ist1&cursor=abc");
});

test("invalid filters are ignored", () => {
  const query = read("status=great&kind=toString&cursor=");
  expect(isJobListNarrowed(query)).toBe(false);
  expect(jobListParameters(query, 50)).toEqual({ limit: 50 });
  expect(jobParameters(query).size).toBe(0);
});
