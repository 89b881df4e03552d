import { describe, expect, test } from "vitest";
import { RateLimited } from "../../platform/errors.ts";
import { BoundedLooks } from "./bounded-looks.ts";

/** Looks that end when they are told to, by a clock that is set. */
function looking() {
  let now = 0;
  const asked: string[] = [];
  const open: { readonly key: string; readonly end: (seen: string) => void; readonly fail: () => void }[] =
    [];
  const bounds = { atOnce: 3, atOnceOfOrganisation: 2, keptMs: 10_000 };
  const looks = new BoundedLooks<string>(bounds, () => now);
  return {
    asked,
    pass: (ms: number) => {
      now += ms;
    },
    look: (organisation: string, key: string) =>
      looks.look(organisation, key, () => {
        asked.push(key);
        const { promise, resolve, reject } = Promise.withResolvers<string>();
        open.push({ key, end: resolve, fail: () => reject(new Error("broken")) });
        return promise;
      }),
    next: () => {
      const first = open.shift();
      if (first === undefined) throw new Error("nobody looks");
      return first;
    },
  };
}

describe("looking up the names of a certificate for a member", () => {
  test("is done once for all who ask at the same time", async () => {
    const { look, asked, next } = looking();
    const all = [look("org_a", "cert_1"), look("org_a", "cert_1"), look("org_a", "cert_1")];
    next().end("seen");
    expect(await Promise.all(all)).toEqual(["seen", "seen", "seen"]);
    expect(asked).toEqual(["cert_1"]);
  });

  test("is not done again for ten seconds, and then it is", async () => {
    const { look, asked, next, pass } = looking();
    const first = look("org_a", "cert_1");
    next().end("before");
    await first;
    pass(9_999);
    expect(await look("org_a", "cert_1")).toBe("before");
    expect(asked).toHaveLength(1);
    pass(1);
    const again = look("org_a", "cert_1");
    next().end("after");
    expect(await again).toBe("after");
    expect(asked).toHaveLength(2);
  });

  test("is refused to an organisation that has two already, and not to another one", async () => {
    const { look, asked, next } = looking();
    const running = [look("org_a", "cert_1"), look("org_a", "cert_2")];
    await expect(look("org_a", "cert_3")).rejects.toThrow(RateLimited);
    const other = look("org_b", "cert_4");
    next().end("one");
    expect(await running[0]).toBe("one");
    const third = look("org_a", "cert_3");
    expect(asked).toEqual(["cert_1", "cert_2", "cert_4", "cert_3"]);
    for (let left = 3; left > 0; left -= 1) next().end("x");
    await Promise.all([...running, other, third]);
  });

  test("is refused while the process has as many as it may have", async () => {
    const { look, next } = looking();
    const running = [look("org_a", "cert_1"), look("org_b", "cert_2"), look("org_c", "cert_3")];
    await expect(look("org_d", "cert_4")).rejects.toMatchObject({ status: 429, retryAfterSeconds: 10 });
    for (let left = 3; left > 0; left -= 1) next().end("x");
    await Promise.all(running);
    const free = look("org_d", "cert_4");
    next().end("free");
    expect(await free).toBe("free");
  });

  test("that has failed makes room, and is tried by the next who asks", async () => {
    const { look, next } = looking();
    for (let tries = 0; tries < 5; tries += 1) {
      const broken = look("org_a", "cert_1");
      next().fail();
      await expect(broken).rejects.toThrow("broken");
    }
    const mended = look("org_a", "cert_1");
    next().end("seen");
    expect(await mended).toBe("seen");
  });

  test("keeps no more than a thousand answers", async () => {
    const { look, asked, next } = looking();
    for (let made = 0; made <= 1_000; made += 1) {
      const each = look("org_a", `cert_${made}`);
      next().end("x");
      await each;
    }
    await look("org_a", "cert_1000");
    expect(asked).toHaveLength(1_001);
    const forgotten = look("org_a", "cert_0");
    next().end("x");
    await forgotten;
    expect(asked).toHaveLength(1_002);
  });
});
