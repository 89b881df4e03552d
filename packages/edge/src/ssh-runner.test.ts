import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { requirePart } from "@kule/testing/parts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SshRunner } from "./ssh-runner.ts";

const sshd = "/usr/sbin/sshd";
const probe = () => {
  if (process.getuid?.() !== 0) return "a server of SSH needs root";
  return existsSync(sshd) ? undefined : "there is no sshd (Debian: openssh-server)";
};
const part = await requirePart("sshd", probe, import.meta.filename);

describe.skipIf(part.missing)("commands over SSH", () => {
  let folder: string;
  let server: ReturnType<typeof spawn>;
  let port: number;
  let key: string;
  let hostKey: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "kule-sshd-"));
    mkdirSync("/run/sshd", { recursive: true });
    const make = (name: string) =>
      execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(folder, name)]);
    for (const name of ["host", "client", "stranger"]) make(name);
    key = readFileSync(join(folder, "client"), "utf8");
    hostKey =
      execFileSync("ssh-keygen", ["-lf", join(folder, "host.pub")], { encoding: "utf8" }).split(" ")[1] ?? "";
    port = await freePort();
    writeFileSync(
      join(folder, "config"),
      [
        `Port ${port}`,
        "ListenAddress 127.0.0.1",
        `HostKey ${join(folder, "host")}`,
        `AuthorizedKeysFile ${join(folder, "client.pub")}`,
        "PermitRootLogin prohibit-password",
        "StrictModes no",
        "UsePAM no",
        "PidFile none",
      ].join("\n"),
    );
    server = spawn(sshd, ["-D", "-e", "-f", join(folder, "config")], { stdio: "ignore" });
    for (let tries = 0; tries < 50; tries++) {
      const answer = await runner()
        .run({ words: ["true"] })
        .catch(() => null);
      if (answer?.code === 0) return;
      await delay(100);
    }
    throw new Error("sshd did not come up");
  });
  afterAll(() => {
    server?.kill("SIGKILL");
    rmSync(folder, { recursive: true, force: true });
  });

  const open: SshRunner[] = [];
  afterAll(() => {
    for (const each of open) each.end();
  });
  function runner(
    more: Partial<ConstructorParameters<typeof SshRunner>[0]> = {},
    timeoutMs?: number,
  ): SshRunner {
    const made = new SshRunner({ host: "127.0.0.1", port, user: "root", key, hostKey, ...more }, timeoutMs);
    open.push(made);
    return made;
  }

  test("give back what the command said, and its words are no shell's", async () => {
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

  test("tell nothing to a host with another key, and say which one it has", async () => {
    const other = `SHA256:${"A".repeat(43)}`;
    await expect(runner({ hostKey: other }).run({ words: ["true"] })).rejects.toThrow(
      `the host's key is ${hostKey}, and edge.host_key says ${other}`,
    );
  });

  test("say it when the key is not let in, and when nobody is there", async () => {
    const stranger = readFileSync(join(folder, "stranger"), "utf8");
    await expect(runner({ key: stranger }).run({ words: ["true"] })).rejects.toThrow(/authentication/);
    await expect(runner({ port: await freePort() }).run({ words: ["true"] })).rejects.toThrow(/ECONNREFUSED/);
  });

  test("give up on one that does not end, and go on with the next", async () => {
    const ssh = runner({}, 2_000);
    await expect(ssh.run({ words: ["sleep", "20"] })).rejects.toThrow("did not end in 2 s");
    expect(await ssh.run({ words: ["echo", "on"] })).toMatchObject({ code: 0, stdout: "on\n" });
    const stop = new AbortController();
    const called = runner().run({ words: ["sleep", "20"] }, stop.signal);
    setTimeout(() => stop.abort(), 100);
    await expect(called).rejects.toThrow("called off");
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
