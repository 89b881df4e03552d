import { describe, expect, test } from "vitest";
import { createVault } from "./at-rest.ts";

const [old, fresh] = ["an old secret that is long enough to be one", "a fresh secret that is long enough"];

describe("what is stored sealed", () => {
  test("is opened with any secret of the ring, and sealed with the first", () => {
    const sealed = createVault([old])?.seal("here", "swordfish") ?? "";
    expect(sealed).not.toContain("swordfish");
    const both = createVault([fresh, old]);
    expect(both?.open("here", sealed)).toBe("swordfish");
    const again = both?.seal("here", "swordfish") ?? "";
    expect(() => createVault([old])?.open("here", again)).toThrow("KULE_API_SECRET");
  });

  test("opens nowhere else, and not when a letter of it is changed", () => {
    const vault = createVault([fresh]);
    const sealed = vault?.seal("user_totp usr_1", "swordfish") ?? "";
    expect(() => vault?.open("user_totp usr_2", sealed)).toThrow();
    // Not the last one, some of whose bits are unused.
    const middle = sealed.length - 8;
    const flipped = sealed.slice(0, middle) + (sealed[middle] === "A" ? "B" : "A") + sealed.slice(middle + 1);
    expect(() => vault?.open("user_totp usr_1", flipped)).toThrow();
    expect(vault?.seal("user_totp usr_1", "swordfish")).not.toBe(sealed);
  });

  test("is unavailable without a secret", () => {
    expect(createVault([])).toBeNull();
  });
});
