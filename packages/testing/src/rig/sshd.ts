import { execFileSync, spawn } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

const sshd = "/usr/sbin/sshd";

/** Why this machine has no server of SSH; undefined when it has. */
export function probeSshd(): string | undefined {
  if (process.getuid?.() !== 0) return "a server of SSH needs root";
  return existsSync(sshd) ? undefined : "there is no sshd (Debian: openssh-server)";
}

export type Sshd = {
  readonly port: number;
  /** The key of the only authorised account, root. */
  readonly key: string;
  readonly keyFile: string;
  /** Of a client that is not authorised. */
  readonly strangersKey: string;
  /** As `ssh-keygen -lf` prints it. */
  readonly hostKey: string;
  /** Ends all connections: the next is accepted. */
  cut(): void;
  end(): Promise<void>;
};

/**
 * OpenSSH's server, on a port of loopback. Each connection has an sshd of its own, which may be in other
 * namespaces than the port.
 *
 * @param enter the prefix of its command, to run it elsewhere on this machine
 */
export async function startSshd(enter: readonly string[] = []): Promise<Sshd> {
  const folder = mkdtempSync(join(tmpdir(), "kule-sshd-"));
  mkdirSync("/run/sshd", { recursive: true });
  for (const name of ["host", "client", "stranger"])
    execFileSync("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", join(folder, name)]);
  const config = [
    `HostKey ${join(folder, "host")}`,
    `AuthorizedKeysFile ${join(folder, "client.pub")}`,
    "PermitRootLogin prohibit-password",
    "PasswordAuthentication no",
    "StrictModes no",
    "UsePAM no",
    "PidFile none",
    // bash reads ~/.bashrc before a command of SSH's, but not as a shell's shell: whatever root has there takes its time.
    "SetEnv SHLVL=2",
  ];
  writeFileSync(join(folder, "config"), config.join("\n"));
  const [program = sshd, ...words] = [...enter, sshd, "-i", "-e", "-f", join(folder, "config")];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    const child = spawn(program, words, { stdio: ["pipe", "pipe", "ignore"] });
    for (const stream of [socket, child.stdin, child.stdout]) stream.on("error", () => {});
    socket.pipe(child.stdin);
    child.stdout.pipe(socket);
    child.once("exit", () => socket.end());
    socket.once("close", () => {
      sockets.delete(socket);
      child.kill();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const cut = () => {
    for (const socket of sockets) socket.destroy();
  };
  const text = (name: string) => readFileSync(join(folder, name), "utf8");
  const print = execFileSync("ssh-keygen", ["-lf", join(folder, "host.pub")], { encoding: "utf8" });
  return {
    port: (server.address() as { port: number }).port,
    key: text("client"),
    keyFile: join(folder, "client"),
    strangersKey: text("stranger"),
    hostKey: print.split(" ")[1] ?? "",
    cut,
    async end() {
      cut();
      await new Promise((resolve) => server.close(resolve));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
