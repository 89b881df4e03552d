import { Hono } from "hono";
import { describe, expect, test } from "vitest";
import { createSealer } from "./sealed-value.ts";
import { createCookies, may, type Session, safeReturnPath } from "./session.ts";

const soon = () => new Date(Date.now() + 60_000);
const first = "the first secret, which is long enough";
const second = "the second secret, which is long enough";

describe("what is sealed", () => {
  test("opens with any secret of the ring and with no other", async () => {
    const sealed = await createSealer([first]).seal("session", { token: "t" }, soon());
    expect(await createSealer([second, first]).open("session", sealed)).toEqual({ token: "t" });
    expect(await createSealer([second]).open("session", sealed)).toBe(null);
  });

  test("opens only for its purpose, before its time, and untouched", async () => {
    const sealer = createSealer([first]);
    const sealed = await sealer.seal("session", { token: "t" }, soon());
    expect(await sealer.open("once srv_1", sealed)).toBe(null);
    expect(await sealer.open("session", await sealer.seal("session", {}, new Date(Date.now() - 1000)))).toBe(
      null,
    );
    const middle = Math.floor(sealed.length / 2);
    const other = sealed[middle] === "A" ? "B" : "A";
    expect(await sealer.open("session", sealed.slice(0, middle) + other + sealed.slice(middle + 1))).toBe(
      null,
    );
    expect(await sealer.open("session", "not a seal at all")).toBe(null);
  });

  test("is sealed by the first secret", async () => {
    const sealed = await createSealer([second, first]).seal("session", {}, soon());
    expect(await createSealer([first]).open("session", sealed)).toBe(null);
    expect(await createSealer([second]).open("session", sealed)).toEqual({});
  });
});

test("over https cookies are secure and bound to this very host", async () => {
  const answer = async (secure: boolean) => {
    const app = new Hono();
    const cookies = createCookies(createSealer([first]), secure);
    app.get("/", async (context) => {
      await cookies.writeOnce(context, "srv_1", "secret");
      return context.text("");
    });
    return (await app.request("/")).headers.get("set-cookie") ?? "";
  };
  const overHttps = await answer(true);
  expect(overHttps).toMatch(/^__Host-kule_once=/);
  expect(overHttps).toContain("; Secure");
  expect(overHttps).toContain("; Path=/");
  expect(overHttps).not.toContain("Domain");
  const onLoopback = await answer(false);
  expect(onLoopback).toMatch(/^kule_once=/);
  expect(onLoopback).not.toContain("Secure");
});

describe("the way back after signing in", () => {
  test.each(["/servers", "/servers?q=web&status=running", "/servers/srv_1", "/jobs/job_1?notice=retried"])(
    "%s is a page of ours",
    (path) => expect(safeReturnPath(path)).toBe(path),
  );

  test.each([
    "https://evil.test/",
    "//evil.test",
    "/\\evil.test",
    "\\\\evil.test",
    "/..//evil.test",
    "/%2e%2e//evil.test",
    "/./\\evil.test",
    "/servers\r\nSet-Cookie: a=b",
    "/\tevil",
    "javascript:alert(1)",
    "/sign-out",
    "",
  ])("%j is not", (path) => {
    const safe = safeReturnPath(path);
    expect(new URL(safe, "http://console.test").origin).toBe("http://console.test");
    expect(safe.startsWith("//")).toBe(false);
    expect(safe).toBe("/servers");
  });
});

test("greying out follows the permissions and wildcards, of operators too", () => {
  const session = (permissions: string[], operator = false) =>
    ({ permissions, operator }) as unknown as Session;
  expect(may(session(["server:create"]), "server:create")).toBe(true);
  expect(may(session(["server:*"]), "server:delete")).toBe(true);
  expect(may(session(["server:read"]), "server:delete")).toBe(false);
  // The right to operate the installation gives no access to machines: the API omits it from an operator's permissions.
  expect(may(session(["operator:regions", "server:delete"], true), "server:delete")).toBe(true);
  expect(may(session(["operator:regions", "server:delete"], true), "server:console")).toBe(false);
});
