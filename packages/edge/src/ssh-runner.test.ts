import { createServer } from "node:net";
import { requirePart } from "@kule/testing/parts";
import { probeSshd, type Sshd, startSshd } from "@kule/testing/rig/sshd";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SshRunner } from "./ssh-runner.ts";

const part = await requirePart("sshd", probeSshd, import.meta.filename);

describe.skipIf(part.missing)("commands over SSH", { timeout: 30_000 }, () => {
  let sshd: Sshd;
  beforeAll(async () => {
    sshd = await startSshd();
  });
  afterAll(() => sshd?.end());

  const open: SshRunner[] = [];
  afterAll(() => {
    for (const each of open) each.end();
  });
  function runner(
    more: Partial<ConstructorParameters<typeof SshRunner>[0]> = {},
    timeoutMs?: number,
  ): SshRunner {
    const { port, key, hostKey } = sshd;
    const made = new SshRunner({ host: "127.0.0.1", port, user: "root", key, hostKey, ...more }, timeoutMs);
    open.push(made);
    return made;
  }

  test("return the output of the command, and no shell parses its words", async () => {
    const ssh = runner();
    const words = ["printf", "%s|", "it's", "$(reboot)", "a b", '"', "`x`", "*"] as const;
    expect(await ssh.run({ words })).toEqual({
      code: 0,
      stdout: `it's|$(reboot)|a b|"|\`x\`|*|`,
      stderr: "",
    });
    expect(await ssh.run({ words: ["cat"], input: "x".repeat(200_000) })).toMatchObject({
      stdout: "x".repeat(200_000),
    });
    expect(await ssh.run({ words: ["sh", "-c", "echo no >&2; exit 3"] })).toEqual({
      code: 3,
      stdout: "",
      stderr: "no\n",
    });
    const many = await Promise.all(
      Array.from({ length: 8 }, (_, index) => ssh.run({ words: ["echo", String(index)] })),
    );
    expect(many.map(({ stdout }) => stdout.trim())).toEqual(["0", "1", "2", "3", "4", "5", "6", "7"]);
  });

  test("send nothing to a host with another key, and name that key", async () => {
    const other = `SHA256:${"A".repeat(43)}`;
    await expect(runner({ hostKey: other }).run({ words: ["true"] })).rejects.toThrow(
      `the host's key is ${sshd.hostKey}, and edge.host_key says ${other}`,
    );
  });

  test("report a refused key, and a host that does not answer", async () => {
    await expect(runner({ key: sshd.strangersKey }).run({ words: ["true"] })).rejects.toThrow(
      /authentication/,
    );
    await expect(runner({ port: await freePort() }).run({ words: ["true"] })).rejects.toThrow(/ECONNREFUSED/);
  });

  test("are carried out however many there are at once: a server has ten sessions for a connection", async () => {
    const ssh = runner();
    const many = await Promise.all(
      Array.from({ length: 40 }, (_, index) => ssh.run({ words: ["sh", "-c", `sleep 0.1; echo ${index}`] })),
    );
    expect(many.map(({ stdout }) => stdout.trim())).toEqual(many.map((_, index) => String(index)));
  });

  test("that wait for a session may be cancelled, and the others continue", async () => {
    const ssh = runner();
    const stop = new AbortController();
    const early = Array.from({ length: 12 }, () => ssh.run({ words: ["sh", "-c", "sleep 0.3; echo on"] }));
    const late = expect(ssh.run({ words: ["true"] }, stop.signal)).rejects.toThrow("called off");
    stop.abort();
    await late;
    await expect(ssh.run({ words: ["true"] }, stop.signal)).rejects.toThrow("called off");
    for (const { stdout } of await Promise.all(early)) expect(stdout).toBe("on\n");
  });

  test("use another connection when theirs was lost while idle", async () => {
    const ssh = runner();
    await ssh.run({ words: ["true"] });
    sshd.cut();
    // After a whole handshake with another client: by then the end of the connection was noticed.
    await runner().run({ words: ["true"] });
    expect(await ssh.run({ words: ["echo", "on"] })).toMatchObject({ code: 0, stdout: "on\n" });
  });

  test("abort one that does not end, and continue with the next", async () => {
    const ssh = runner({}, 4_000);
    await expect(ssh.run({ words: ["sleep", "20"] })).rejects.toThrow("did not end in 4 s");
    expect(await ssh.run({ words: ["echo", "on"] })).toMatchObject({ code: 0, stdout: "on\n" });
    const stop = new AbortController();
    const called = runner().run({ words: ["sleep", "20"] }, stop.signal);
    setTimeout(() => stop.abort(), 100);
    await expect(called).rejects.toThrow("called off");
  });

  test("one that is aborted does not affect the others on its connection", async () => {
    const ssh = runner();
    await ssh.run({ words: ["true"] });
    const other = ssh.run({ words: ["sh", "-c", "sleep 1; echo there"] });
    const stop = new AbortController();
    const called = expect(ssh.run({ words: ["sleep", "20"] }, stop.signal)).rejects.toThrow("called off");
    const early = new AbortController();
    const never = expect(ssh.run({ words: ["sleep", "20"] }, early.signal)).rejects.toThrow("called off");
    early.abort();
    setTimeout(() => stop.abort(), 200);
    await Promise.all([called, never]);
    expect(await other).toMatchObject({ code: 0, stdout: "there\n" });
    expect(await ssh.run({ words: ["echo", "on"] })).toMatchObject({ code: 0, stdout: "on\n" });
  });
});

function freePort(): Promise<number> {
  const server = createServer();
  return new Promise((resolve) =>
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    }),
  );
}
