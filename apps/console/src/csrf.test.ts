import { expect, test } from "vitest";
import { formTokenHolds, isSameOrigin, mintFormToken } from "./csrf.ts";

test("a token holds for its session's secret and no other, and is new each time", () => {
  const token = mintFormToken("secret");
  expect(formTokenHolds("secret", token)).toBe(true);
  expect(formTokenHolds("other", token)).toBe(false);
  expect(mintFormToken("secret")).not.toBe(token);
});

test.each([undefined, null, "", ".", "a.b", "a", "a.b.c", "x".repeat(500), 7])("%j is no token", (token) => {
  expect(formTokenHolds("secret", token)).toBe(false);
});

test("a token with a letter changed does not hold", () => {
  const token = mintFormToken("secret");
  for (const index of [0, 5, token.length - 2]) {
    const other = token[index] === "A" ? "B" : "A";
    expect(formTokenHolds("secret", token.slice(0, index) + other + token.slice(index + 1))).toBe(false);
  }
});

test.each([
  [{ "sec-fetch-site": "same-origin", origin: "http://console.test" }, true],
  [{ "sec-fetch-site": "same-origin", origin: "null" }, true],
  [{ "sec-fetch-site": "same-origin" }, true],
  [{ origin: "http://console.test" }, true],
  // TLS ends at a proxy: the browser's scheme is not ours.
  [{ origin: "https://console.test" }, true],
  [{ origin: "http://console.test.evil.test" }, false],
  [{ origin: "http://console.test:8080" }, false],
  [{ "sec-fetch-site": "same-site", origin: "http://console.test" }, false],
  [{ "sec-fetch-site": "cross-site" }, false],
  [{ "sec-fetch-site": "none" }, false],
  [{ origin: "null" }, false],
  [{}, false],
] as const)("headers %j are from our own page: %s", (headers, own) => {
  expect(isSameOrigin(headers, "console.test")).toBe(own);
});
