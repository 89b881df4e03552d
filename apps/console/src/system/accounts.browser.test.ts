import { generateKeyPairSync } from "node:crypto";
import { readFileSync } from "node:fs";
import { probeChromium } from "@kule/testing/chromium";
import { requirePart } from "@kule/testing/parts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { complaintsBeyond } from "../testing/browser.ts";
import { type PanelStack, type Signed, startPanelStack } from "../testing/panel-stack.ts";

const part = await requirePart("chromium", probeChromium, import.meta.filename);

/** A new public key, as the one line that OpenSSH writes. */
function newPublicKey(): string {
  const { x = "" } = generateKeyPairSync("ed25519").publicKey.export({ format: "jwk" });
  const parts = [Buffer.from("ssh-ed25519"), Buffer.from(x, "base64url")].flatMap((part) => {
    const length = Buffer.alloc(4);
    length.writeUInt32BE(part.length);
    return [length, part];
  });
  return `ssh-ed25519 ${Buffer.concat(parts).toString("base64")} ada@example`;
}

/** The SSH keys and the usage of an organisation. */
describe.skipIf(part.missing)("keys and usage in the panel of a whole Kule", { timeout: 240_000 }, () => {
  let stack: PanelStack;
  let owner: Signed;
  beforeAll(async () => {
    stack = await startPanelStack();
    owner = await stack.signIn("organisation");
  }, 240_000);
  afterAll(() => stack?.end());

  test("an SSH key is refused with the reason, added, chosen for a server, and deleted", async () => {
    const { page } = owner;
    await owner.open("/ssh-keys/new");
    const add = async (name: string, key: string) => {
      await page.fill("main .form [name=name]", name);
      await page.fill("main .form textarea", key);
      await page.click("main .form button[type=submit]");
    };
    const key = newPublicKey();
    for (const [wrong, reason] of [
      ["-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaA==\n-----END OPENSSH PRIVATE KEY-----", "private key"],
      ["ssh-dss AAAAB3NzaC1kc3MAAACBAP", "DSA"],
      [`command="x" ${key}`, "options"],
      [key.slice(0, 40), "cut off"],
    ] as const) {
      await add("laptop", wrong);
      await page.waitForSelector(`.problem >> text=${reason}`);
      expect(await page.inputValue("main .form [name=name]")).toBe("laptop");
    }
    await add("laptop", key);
    await page.waitForSelector("text=The key is added");
    await owner.open("/ssh-keys/new");
    await add("again", key);
    await page.waitForSelector(".problem");
    await page.click("main .form a[href^='/ssh-keys?q=laptop#key_']");
    await page.waitForSelector("#key-list tr[id^=key_] >> text=laptop");
    await owner.open("/servers/new");
    await page.fill("#field-name", "opened");
    await page.check("#access input[name=ssh_key_ids]");
    await page.waitForSelector(".summary .ready");
    await page.click(".summary button[value=create]");
    await page.waitForURL(/\/servers\/srv_/);
    // A server with a key has no console password.
    expect(await page.locator("#console-password").count()).toBe(0);
    await page.waitForSelector(`.title-line .status >> text="running"`);
    await owner.open("/ssh-keys");
    await page.click("table details.confirm > summary");
    await page.click("table details.confirm button[data-kind=danger]");
    await page.waitForSelector("text=The key is deleted");
  });

  test("the usage of a server is shown, and its exports as CSV and NDJSON have the same segments", async () => {
    const { page } = owner;
    await owner.open("/usage");
    await page.waitForSelector("main table >> text=opened");
    const download = async (kind: "csv" | "ndjson") => {
      const [file] = await Promise.all([
        page.waitForEvent("download"),
        page.click(`a[href*='export.${kind}']`),
      ]);
      return readFileSync(await file.path(), "utf8")
        .trim()
        .split("\n");
    };
    const [header, ...rows] = await download("csv");
    const lines = (await download("ndjson")).map((line) => JSON.parse(line) as { id: string; kind: string });
    expect(header).toMatch(/^id,kind,start,end,/);
    expect(rows.map((row) => row.split(",")[0]).sort()).toEqual(lines.map(({ id }) => id).sort());
    expect(lines.map(({ kind }) => kind).sort()).toEqual(["compute", "disk"]);
    await page.click("a[href^='/usage/segments']");
    await page.waitForSelector("main table >> text=opened");
    expect(complaintsBeyond(owner, 409, 422)).toEqual([]);
  });
});
