import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MailServer } from "@kule/region-config/mail-file";
import { Secret } from "@kule/region-config/secret";
import { type MailServerOptions, SoftMailServer } from "@kule/testing/mail/soft-mail-server";
import { afterEach, describe, expect, test } from "vitest";
import { BadSettings } from "../platform/settings.ts";
import { mailerOf, readMailer } from "./mailer.ts";

const login = { user: "kule", password: "swordfish" };
const mail = { to: "ada@example.org", subject: "Merhaba İşte", text: "açık\n", html: "<p>açık</p>\n" };
const never = new AbortController().signal;

let server: SoftMailServer;
afterEach(() => server.goAway());

async function mailer(options: MailServerOptions, more: Partial<MailServer> = {}) {
  server = await SoftMailServer.start(options);
  return mailerOf({
    host: server.host,
    port: server.port,
    security: options.security ?? "starttls",
    login:
      options.login === undefined
        ? null
        : { user: options.login.user, password: new Secret(options.login.password, "a test") },
    ca: options.security === "none" ? null : server.ca,
    from: { name: "Acme, Cloud", address: "kule@acme.example" },
    ...more,
  });
}

describe("a mail", () => {
  test.each(["starttls", "tls", "none"] as const)(
    "is sent by %s, with a name and a password",
    async (security) => {
      const { send } = await mailer({ security, login });
      expect(await send(mail, never)).toBeNull();
      expect(server.mails).toMatchObject([
        {
          from: "kule@acme.example",
          to: ["ada@example.org"],
          text: "açık\n",
          html: expect.stringContaining("<p>açık</p>"),
          isEncrypted: security !== "none",
          user: "kule",
        },
      ]);
      expect(server.mails[0]?.source).toMatch(/^From: "Acme, Cloud" <kule@acme\.example>\r$/m);
      expect(server.mails[0]?.source).toMatch(/^Auto-Submitted: auto-generated\r$/m);
    },
  );

  test("is not sent to a server that does not encrypt, or has another certificate", async () => {
    const plain = await mailer({ security: "none" }, { security: "starttls" });
    await expect(plain.send(mail, never)).rejects.toThrow(/STARTTLS/);
    expect(server.mails).toEqual([]);
    await server.goAway();
    const strange = await mailer({ security: "tls", login }, { ca: null });
    await expect(strange.send(mail, never)).rejects.toThrow(/self-signed/);
    expect(server.mails).toEqual([]);
  });

  test("that the server refuses temporarily is retried by the sender", async () => {
    const wrong = new Secret("marlin", "a test");
    const { send } = await mailer({ login }, { login: { user: "kule", password: wrong } });
    await expect(send(mail, never)).rejects.toThrow(/535/);
    await server.goAway();
    await expect(send(mail, never)).rejects.toThrow(/ECONNREFUSED/);
    const other = await mailer({});
    server.meet({ at: "data", code: 451 }, { at: "recipient", code: 450 }, { at: "data", code: 554 });
    for (const code of [451, 450, 554]) await expect(other.send(mail, never)).rejects.toThrow(String(code));
    expect(server.mails).toEqual([]);
  });

  test("that the server refuses permanently is no failure, and its text is returned", async () => {
    const { send } = await mailer({});
    server.meet({ at: "recipient", code: 550 });
    expect(await send(mail, never)).toContain("550");
    expect(server.mails).toEqual([]);
  });

  test("to a silent server ends on abort", async () => {
    const { send } = await mailer({});
    server.meet({ at: "silence" });
    const stop = new AbortController();
    const met = server.nextTrouble();
    const sending = send(mail, stop.signal);
    await Promise.all([met.then(() => stop.abort()), expect(sending).rejects.toThrow()]);
  });

  test("goes to one recipient, whatever their address looks like", async () => {
    const { send } = await mailer({});
    await send({ ...mail, to: "ada@example.org,eve@example.com" }, never).catch(() => {});
    expect(server.mails.flatMap(({ to }) => to)).not.toContain("eve@example.com");
  });
});

test("a worker with a wrong file does not start, and names the line", async () => {
  server = await SoftMailServer.start();
  const folder = mkdtempSync(join(tmpdir(), "kule-mailer-"));
  const mailFile = join(folder, "mail.yaml");
  writeFileSync(mailFile, "host: smtp.acme.example\nfrom: Kule\n");
  const read = () => readMailer({ mailFile }, {});
  expect(read).toThrow(BadSettings);
  expect(read).toThrow(
    /mail\.yaml:2:7: from: is not written as it must be\n {4}fix: write the sender's address/,
  );
  expect(readMailer({ mailFile: null }, {})).toBeNull();
  rmSync(folder, { recursive: true });
});
