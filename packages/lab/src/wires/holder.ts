import { type ChildProcess, execFile, spawn } from "node:child_process";
import { mkdirSync } from "node:fs";
import { promisify } from "node:util";
import { GUESTS_FOLDER } from "../real-guests/guest-scripts.ts";

const run = promisify(execFile);

/** Namespaces of its own; the kernel's bridges show their packets to the firewall, as on a Proxmox VE node. */
const PREPARE = `
mount -t tmpfs none /run/netns
mount -t tmpfs -o mode=755 none ${GUESTS_FOLDER}
ip link set dev lo up
# A node has a way to everywhere: without one the kernel refuses to send a refusal.
ip route add default dev lo
ip -6 route add default dev lo
echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6
ip link add name probe type bridge
echo 1 > /proc/sys/net/bridge/bridge-nf-call-iptables
echo 1 > /proc/sys/net/bridge/bridge-nf-call-ip6tables
# As pve-cluster leaves it: a node's firewall is shown no frame that carries a tag.
echo 0 > /proc/sys/net/bridge/bridge-nf-filter-vlan-tagged
ip link del dev probe
`;

const NAMESPACES = ["--net", "--mount", "--pid", "--fork", "--kill-child=SIGKILL"];
/** The first process of its namespace: with it everything ends that runs inside, whatever has become of its parent. */
const HOLD = "echo ready; trap '' CHLD; exec cat";

/** A command of the wires that failed, with its own error text. */
export class WiresFailed extends Error {}

/**
 * A network of its own for the lab, with a table of namespaces, both held by one process. It ends when its
 * standard input does, so after any end of the lab nothing of its wires is left on the machine.
 */
export class Holder {
  readonly #process: ChildProcess;

  private constructor(process: ChildProcess) {
    this.#process = process;
  }

  /** @throws WiresFailed where the machine does not allow it */
  static async start(): Promise<Holder> {
    // The mount point is the machine's; what is mounted there is seen by the holder alone.
    for (const folder of ["/run/netns", GUESTS_FOLDER]) mkdirSync(folder, { recursive: true });
    const child = spawn("unshare", [...NAMESPACES, "sh", "-ec", `${PREPARE}\n${HOLD}`], {
      stdio: ["pipe", "pipe", "pipe"],
    });
    let complaint = "";
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      complaint += text;
    });
    await new Promise<void>((resolve, reject) => {
      child.once("error", (error) => reject(new WiresFailed(`unshare: ${error.message}`)));
      child.once("exit", () => reject(new WiresFailed(complaint.trim() || "unshare ended at once")));
      child.stdout.once("data", () => resolve());
    });
    child.removeAllListeners("exit");
    child.stdin.on("error", () => {});
    return new Holder(child);
  }

  /** The prefix of a command that runs it in here; with the name of a namespace, in that one. */
  enter(namespace?: string): readonly string[] {
    const words = ["nsenter", "--target", String(this.#process.pid), "--net", "--mount"];
    return namespace === undefined ? words : [...words, "ip", "netns", "exec", namespace];
  }

  /**
   * The prefix of a command that ends with the holder at the latest. What is started is a child of the process
   * that the caller gets: a signal to that one does not reach it.
   */
  inside(): readonly string[] {
    return [...this.enter(), `--pid=/proc/${this.#process.pid}/ns/pid_for_children`];
  }

  /** A path of the holder's own mounts, for the lab's process. */
  path(inside: string): string {
    return `/proc/${this.#process.pid}/root${inside}`;
  }

  /** @throws WiresFailed */
  async run(
    words: readonly string[],
    input = "",
    env: Readonly<Record<string, string>> = {},
  ): Promise<string> {
    const [program = "", ...rest] = [...this.enter(), ...words];
    const running = run(program, rest, { env: { PATH: process.env.PATH, LC_ALL: "C", ...env } });
    running.child.stdin?.on("error", () => {});
    running.child.stdin?.end(input);
    try {
      return (await running).stdout;
    } catch (error) {
      const said = (error as { readonly stderr?: string }).stderr ?? String(error);
      throw new WiresFailed(`${words.join(" ")}: ${said.trim()}`);
    }
  }

  async end(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = new Promise((resolve) => this.#process.once("exit", resolve));
    this.#process.stdin?.end();
    this.#process.kill("SIGKILL");
    await ended;
  }
}
