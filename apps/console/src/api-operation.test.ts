import { operations } from "@kule/contract/generated/operations";
import { expect, test } from "vitest";
import { operationCall, referenceAddress } from "./api-operation.ts";

const api = "https://kule.example/api/v1";

test("a call has the method and the path that the contract has for its operation", () => {
  expect(operationCall(api, { operation: "listServers", query: { status: "running" } })).toBe(
    `curl -s '${api}/servers?status=running' -H "Authorization: Bearer $TOKEN"`,
  );
  expect(operationCall(api, { operation: "revokeToken", path: { token_id: "tok_1/../x" } })).toBe(
    `curl -s -X DELETE ${api}/tokens/tok_1%2F..%2Fx -H "Authorization: Bearer $TOKEN"`,
  );
  expect(
    operationCall(api, { operation: "updateMember", path: { member_id: "mem_1" }, body: { role: "admin" } }),
  ).toContain(`-X PATCH ${api}/members/mem_1`);
});

test("a missing path parameter is an error, not a call to another path", () => {
  expect(() => operationCall(api, { operation: "getServer" })).toThrow("getServer needs server_id");
});

test("every operation has a place in the reference", () => {
  for (const { id, tag } of Object.values(operations))
    expect(referenceAddress(api, id)).toBe(`${api}/docs#/${tag}/${id}`);
});
