import { expect, test } from "vitest";
import { differences } from "./cloud-init-check.ts";
import { guestTexts } from "./hostile-corpus.ts";

const meant = { hostname: "web", keys: ["ssh-ed25519 AAAA"] };

test("a text with the same meaning in both versions of YAML is right", () => {
  expect(differences("user-data", "hostname: web\nkeys:\n  - ssh-ed25519 AAAA\n", meant)).toEqual([]);
});

test.each([
  ["another key", "hostname: web\nkeys: [ssh-ed25519 AAAA]\nruncmd: [id]\n", 2],
  ["another value", "hostname: web2\nkeys: [ssh-ed25519 AAAA]\n", 2],
  ["a key twice", "hostname: web\nhostname: web\nkeys: [ssh-ed25519 AAAA]\n", 2],
  ["another document", "hostname: web\nkeys: [ssh-ed25519 AAAA]\n---\nruncmd: [id]\n", 2],
  ["no YAML", "hostname: 'web\n", 2],
])("%s is detected", (_what, text, count) => {
  expect(differences("user-data", text, meant)).toHaveLength(count);
});

test("a word that only old readers take for a boolean is detected with them", () => {
  const [only, ...others] = differences("user-data", "hostname: yes\n", { hostname: "yes" });
  expect(only).toContain("YAML 1.1");
  expect(others).toEqual([]);
});

test("the corpus has 200 texts and more, each once", () => {
  expect(guestTexts.length).toBeGreaterThanOrEqual(200);
  expect(new Set(guestTexts).size).toBe(guestTexts.length);
});
