import { expect, test } from "vitest";
import { chosenVmid, nameFrom, readImportForm, toImportBody } from "./import-values.ts";

test.each([
  ["old-web", "old-web"],
  ["billing-db.intern.example.com", "billing-db"],
  ["Web Server_1", "web-server-1"],
  ["-x-", "x"],
  ["20431", ""],
  ["", ""],
  [`a${"b".repeat(80)}`, `a${"b".repeat(62)}`],
])("a VM called %j is offered as %j", (vmName, name) => {
  expect(nameFrom(vmName)).toBe(name);
});

test("a typed number is used only when no VM of the list is chosen", () => {
  const read = (query: string) => readImportForm(new URLSearchParams(query));
  expect(chosenVmid(read("vmid=20431&other_vmid=20500"))).toBe("20431");
  expect(chosenVmid(read("vmid=other&other_vmid=20500"))).toBe("20500");
  expect(chosenVmid(read("other_vmid=20500"))).toBe("20500");
});

test("invalid numbers reach the API as typed, and an address is sent only if there is one", () => {
  const body = toImportBody(readImportForm(new URLSearchParams("vmid=other&other_vmid=abc&name=web")));
  expect(body.vmid).toBe("abc");
  expect(Object.keys(body)).not.toContain("private_ip");
  expect(Object.keys(body)).not.toContain("labels");
});

test("labels are read as typed", () => {
  const body = toImportBody(readImportForm(new URLSearchParams("vmid=20431&labels=env%3Dprod%2C+old")));
  expect(body.labels).toEqual({ env: "prod", old: "" });
});
