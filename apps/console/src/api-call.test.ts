import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { apiCall } from "./api-call.ts";

const apiUrl = "http://127.0.0.1:8080/api/v1";

test("a call is parsed by a shell into exactly the intended arguments", () => {
  const body = { name: 'it\'s $(touch /tmp/never) `x` "y" \\', labels: { a: "b c" } };
  const call = apiCall({ apiUrl, method: "POST", path: "/servers?dry_run=true", body });
  const shown = call.replace(/^curl/, `printf '%s\\n'`);
  const words = execFileSync("/bin/sh", ["-c", shown], { env: { TOKEN: "secret" }, encoding: "utf8" });
  expect(words.split("\n").slice(0, -1)).toEqual([
    "-s",
    `${apiUrl}/servers?dry_run=true`,
    "-H",
    "Authorization: Bearer secret",
    "-H",
    "Content-Type: application/json",
    "-d",
    JSON.stringify(body),
  ]);
});

test("the method is named only where curl would use another", () => {
  expect(apiCall({ apiUrl, method: "GET", path: "/servers" })).not.toContain("-X");
  expect(apiCall({ apiUrl, method: "DELETE", path: "/servers/srv_1" })).toContain("-X DELETE");
  expect(apiCall({ apiUrl, method: "POST", path: "/servers/srv_1/cancel-deletion" })).toContain("-X POST");
});
