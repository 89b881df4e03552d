import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Schemas } from "@kule/contract/schemas";
import { intentOf, machineOf } from "@kule/programs/load-balancers/intent";
import { renderLoadBalancer } from "@kule/rules/load-balancers/render/render-load-balancer";

const program = "/usr/sbin/haproxy";
const readyMs = 30_000;

/** Undefined when it can be run here, else what is missing. */
export function probeBalancer(): string | undefined {
  return existsSync(program) ? undefined : `${program} does not exist (Debian package haproxy)`;
}

/** The real haproxy on this machine with what the region makes of a job of a load balancer, instead of in its guest. */
export class RunningBalancer {
  readonly #folder = mkdtempSync(join(tmpdir(), "kule-balancer-"));
  readonly #port: number;
  #haproxy: ChildProcess | null = null;

  /** @param port of this machine, in the place of port 80 */
  constructor(port: number) {
    this.#port = port;
  }

  /** Has the configuration from now on. */
  async apply(payload: Schemas["LoadBalancerApplyPayload"]): Promise<void> {
    const [machine] = payload.machines;
    if (machine === undefined) throw new Error("the job has no machine");
    const { files } = renderLoadBalancer(intentOf(payload), { ...machineOf(machine), maxConnections: 100 });
    for (const { path, content } of files) {
      mkdirSync(join(this.#folder, dirname(path)), { recursive: true });
      writeFileSync(join(this.#folder, path), path.endsWith("haproxy.cfg") ? this.#here(content) : content);
    }
    await this.#stop();
    const started = spawn(program, ["-db", "-f", "haproxy/haproxy.cfg"], {
      cwd: this.#folder,
      stdio: "ignore",
    });
    this.#haproxy = started;
    const until = Date.now() + readyMs;
    while (!(await accepts(this.#port))) {
      if (started.exitCode !== null || Date.now() > until) throw new Error("haproxy does not start");
      await delay(50);
    }
  }

  async close(): Promise<void> {
    await this.#stop();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Without root, and away from the machine's own addresses and port 80. */
  #here(text: string): string {
    return text
      .replace(/^ {4}(user|group|chroot) .*\n/gm, "")
      .replaceAll("/run/kule-lb", this.#folder)
      .replaceAll("bind 0.0.0.0:80\n", `bind 127.0.0.1:${this.#port}\n`);
  }

  async #stop(): Promise<void> {
    const running = this.#haproxy;
    this.#haproxy = null;
    if (running === null || running.exitCode !== null || running.signalCode !== null) return;
    const ended = once(running, "exit");
    running.kill("SIGKILL");
    await ended;
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}
