import type { VmDocument } from "../documents.ts";
import type { Region } from "../region.ts";
import type { ConsoleClient } from "./console-client.ts";
import { guestFacts, passwordFits } from "./guest-facts.ts";
import { powerOffFromInside, restartFromInside } from "./guest-power.ts";
import { LineEditor } from "./line-editor.ts";
import type { NetworkCommand } from "./network-commands.ts";
import { type NetworkRun, runOnNetwork } from "./network-run.ts";
import type { SerialPort } from "./serial-port.ts";
import { type Afterwards, type Machine, type Output, Shell } from "./shell.ts";

/** Input during a command waits for its end, up to this many characters. */
const TYPED_AHEAD = 1024;

type State =
  | { readonly at: "booting" }
  | { readonly at: "user" }
  | { readonly at: "password"; readonly user: string }
  | { readonly at: "shell"; readonly shell: Shell }
  | {
      readonly at: "running";
      readonly shell: Shell;
      readonly stop: AbortController;
      /** The command that runs in the machine's network, and whether it reads the input. */
      network?: { readonly run: NetworkRun; readonly takesInput: boolean };
    };

/** Between the lines of a boot, in simulated seconds. */
const BOOT: readonly (readonly [seconds: number, text: (vm: VmDocument) => string])[] = [
  [0.2, () => "SeaBIOS (version rel-1.16.3-lab)\nBooting from Hard Disk...\n"],
  [0.8, () => "[    0.000000] Linux version 6.8.0-lab (lab@kule) #1 SMP\n"],
  [
    0.2,
    (vm) =>
      `[    0.000000] Command line: root=/dev/sda1 console=tty1 console=ttyS0\n[    0.004211] Memory: ${guestFacts(vm).memoryMb * 1024}K available\n`,
  ],
  [0.3, (vm) => `[    0.312904] smp: Brought up 1 node, ${guestFacts(vm).cores} CPUs\n`],
  [0.5, (vm) => `[    1.208113] sd 2:0:0:0: [sda] ${guestFacts(vm).diskGib} GiB, Write Protect is off\n`],
  [0.6, () => "[    1.904420] virtio_net virtio2 eth0: link becomes ready\n"],
  [0.5, (vm) => `[    2.311008] systemd[1]: Hostname set to <${guestFacts(vm).hostname}>.\n`],
  [0.6, () => "[  OK  ] Started systemd-networkd.service - Network Configuration.\n"],
  [
    0.8,
    () =>
      "[  OK  ] Finished cloud-init.service - Cloud-init: Network Stage.\n[  OK  ] Started serial-getty@ttyS0.service - Serial Getty on ttyS0.\n",
  ],
];

/**
 * A Linux on a serial line, from its boot to its end. It continues without a client, and its output is lost
 * then.
 */
export class SerialGuest implements SerialPort {
  readonly #region: Region;
  readonly #vmid: number;
  readonly #editor: LineEditor;
  readonly #decoder = new TextDecoder();
  readonly #clients: ConsoleClient[] = [];
  /** Input of clients that are not connected to the line yet: it waits in their sockets. */
  readonly #early = new Map<ConsoleClient, Buffer>();
  #state: State = { at: "booting" };
  #typed = "";
  #boots = 0;
  #attached = Promise.withResolvers<void>();
  #gone = false;

  /** @param hasBooted it had started before it was first viewed, as after a restart of the lab */
  constructor(region: Region, vmid: number, hasBooted: boolean) {
    this.#region = region;
    this.#vmid = vmid;
    this.#editor = new LineEditor((text) => this.#print(text));
    if (hasBooted) this.#state = { at: "user" };
    else void this.boot();
  }

  /**
   * The line is one socket: a second client waits until the first has left, and gets no output until then.
   */
  attach(client: ConsoleClient): void {
    this.#clients.push(client);
    if (this.#clients.length === 1) this.#attached.resolve();
  }

  detach(client: ConsoleClient): void {
    const at = this.#clients.indexOf(client);
    if (at >= 0) this.#clients.splice(at, 1);
    // A program on this machine, unlike the simulated ones, is not left running without a terminal.
    if (at === 0 && this.#state.at === "running" && this.#state.network !== undefined)
      this.#state.stop.abort();
    this.#early.delete(client);
    const [next] = this.#clients;
    const typed = next === undefined ? undefined : this.#early.get(next);
    if (next !== undefined && typed !== undefined) {
      this.#early.delete(next);
      this.input(next, typed);
    }
    if (this.#clients.length === 0) this.#attached = Promise.withResolvers<void>();
  }

  input(client: ConsoleClient, bytes: Uint8Array): void {
    if (this.#gone) return;
    if (client !== this.#clients[0]) {
      const typed = Buffer.concat([this.#early.get(client) ?? Buffer.alloc(0), bytes]);
      this.#early.set(client, typed.subarray(0, TYPED_AHEAD));
      return;
    }
    for (const character of this.#decoder.decode(bytes, { stream: true })) this.#key(character);
  }

  /** The machine restarts while its clients stay attached. */
  async boot(): Promise<void> {
    this.#boots += 1;
    const boot = this.#boots;
    if (this.#state.at === "running") this.#state.stop.abort();
    this.#state = { at: "booting" };
    this.#editor.reset();
    this.#typed = "";
    for (const [seconds, text] of BOOT) {
      await this.#region.runtime.wait(seconds);
      const vm = this.#vm();
      if (vm === undefined || this.#boots !== boot || this.#gone) return;
      this.#print(crlf(text(vm)));
    }
    this.#askUser();
  }

  /** QEMU is gone, and with it the other end of every connection. */
  end(): void {
    this.#gone = true;
    if (this.#state.at === "running") this.#state.stop.abort();
    for (const client of this.#clients.splice(0)) client.close();
    this.#attached.resolve();
  }

  #vm(): VmDocument | undefined {
    return this.#region.store.get("vm", String(this.#vmid));
  }

  #print(text: string): void {
    if (text !== "") this.#clients[0]?.send(Buffer.from(text));
  }

  #key(character: string): void {
    const state = this.#state;
    if (state.at === "booting") return;
    if (state.at === "running") {
      if (character === "\x03") state.stop.abort();
      else if (state.network?.takesInput) this.#keyFor(state.network.run, character);
      else if (this.#typed.length < TYPED_AHEAD) this.#typed += character;
      return;
    }
    this.#editor.visible = state.at !== "password";
    this.#editor.remembers = state.at === "shell";
    const edited = this.#editor.key(character);
    if (edited === null) return;
    switch (edited.kind) {
      case "clear":
        if (state.at === "shell")
          this.#print(`\x1b[H\x1b[2J${this.#prompt(state.shell)}${this.#editor.pending}`);
        return;
      case "interrupt":
        if (state.at === "shell") this.#print(this.#prompt(state.shell));
        else this.#askUser();
        return;
      case "end":
        if (state.at === "shell") this.#logout();
        return;
      case "line":
        void this.#line(edited.line);
    }
  }

  /** As a terminal in line mode: a line at a time. */
  #keyFor(run: NetworkRun, character: string): void {
    this.#editor.visible = true;
    this.#editor.remembers = false;
    const edited = this.#editor.key(character);
    if (edited?.kind === "line") run.type(`${edited.line}\n`);
    else if (edited?.kind === "end") run.endInput();
  }

  async #line(line: string): Promise<void> {
    const state = this.#state;
    if (state.at === "user") {
      if (line.trim() === "") return this.#askUser();
      this.#state = { at: "password", user: line.trim() };
      this.#print("Password: ");
    } else if (state.at === "password") {
      await this.#login(state.user, line);
    } else if (state.at === "shell") {
      await this.#run(state.shell, line);
    }
  }

  async #login(user: string, password: string): Promise<void> {
    const vm = this.#vm();
    if (vm === undefined) return;
    if (!passwordFits(vm, user, password)) {
      const boot = this.#boots;
      // pam_unix makes guessing slow; no input is read in that time.
      this.#state = { at: "booting" };
      await this.#region.runtime.wait(2);
      if (this.#boots !== boot || this.#gone) return;
      this.#print("\r\nLogin incorrect\r\n");
      this.#askUser(false);
      return;
    }
    const { os, hostname } = guestFacts(vm);
    const shell = new Shell(user);
    this.#state = { at: "shell", shell };
    this.#print(crlf(`Welcome to ${os.pretty} on ${hostname} (simulated by Kule's lab; try "help")\n\n`));
    this.#print(this.#prompt(shell));
  }

  async #run(shell: Shell, line: string): Promise<void> {
    const machine = this.#machine();
    if (machine === undefined) return;
    const stop = new AbortController();
    this.#state = { at: "running", shell, stop };
    const boot = this.#boots;
    const next = await this.#printAll(shell.run(line, machine, this.#editor.history), stop.signal);
    if (this.#gone || this.#boots !== boot) return;
    if (stop.signal.aborted) this.#print("^C\r\n");
    await this.#afterwards(shell, next);
    const typed = this.#typed;
    this.#typed = "";
    for (const character of typed) this.#key(character);
  }

  /** Prints no faster than the other end reads, and not at all while there is none. */
  async #printAll(output: Generator<Output, Afterwards, number>, stop: AbortSignal): Promise<Afterwards> {
    const stopped = new Promise<void>((resolve) => stop.addEventListener("abort", () => resolve()));
    for (let exitCode = 0; ; ) {
      const step = output.next(exitCode);
      if (step.done === true) return step.value;
      if (typeof step.value === "string") this.#print(crlf(step.value));
      else if ("onNetwork" in step.value)
        exitCode = await this.#runOnNetwork(step.value.onNetwork, stopped, stop);
      else await Promise.race([stopped, this.#region.runtime.wait(step.value.pauseSeconds)]);
      await this.#untilReady(stopped, stop);
      if (stop.aborted) return "stay";
    }
  }

  /** Until the other end reads; there may be none. */
  async #untilReady(stopped: Promise<void>, stop: AbortSignal): Promise<void> {
    await Promise.race([stopped, this.#attached.promise]);
    const client = this.#clients[0];
    if (client !== undefined && !client.isReady && !stop.aborted) {
      const ready = Promise.withResolvers<void>();
      client.onReady(ready.resolve);
      await Promise.race([stopped, ready.promise]);
    } else await this.#region.runtime.wait(0);
  }

  async #runOnNetwork(command: NetworkCommand, stopped: Promise<void>, stop: AbortSignal): Promise<number> {
    const { wires } = this.#region;
    const state = this.#state;
    if (wires === null || state.at !== "running") return 2;
    const run = runOnNetwork(wires.inMachine(this.#vmid), command, {
      print: (text) => this.#print(crlf(text)),
      ready: () => this.#untilReady(stopped, stop),
      runtime: this.#region.runtime,
      stop,
    });
    this.#editor.reset();
    state.network = { run, takesInput: command.takesInput };
    const exitCode = await run.exitCode;
    delete state.network;
    this.#editor.reset();
    return exitCode;
  }

  async #afterwards(shell: Shell, next: Afterwards): Promise<void> {
    switch (next) {
      case "logout":
        return this.#logout();
      case "clear":
        this.#print("\x1b[H\x1b[2J");
        break;
      case "reboot":
      case "poweroff":
        return this.#goDown(next);
      default:
    }
    this.#state = { at: "shell", shell };
    this.#print(this.#prompt(shell));
  }

  async #goDown(how: "reboot" | "poweroff"): Promise<void> {
    this.#state = { at: "booting" };
    this.#print(
      crlf(
        "         Stopping session-1.scope - Session 1 of User...\n[  OK  ] Stopped target multi-user.target - Multi-User System.\n",
      ),
    );
    await this.#region.runtime.wait(1.5);
    if (this.#gone) return;
    this.#print(
      crlf(
        how === "reboot"
          ? "[  OK  ] Reached target reboot.target\n"
          : "[  OK  ] Reached target poweroff.target\n",
      ),
    );
    if (how === "reboot") restartFromInside(this.#region, this.#vmid);
    else powerOffFromInside(this.#region, this.#vmid);
  }

  #logout(): void {
    this.#print("\r\n");
    this.#askUser();
  }

  /** @param withIssue /etc/issue before it, as after a boot or a logout */
  #askUser(withIssue = true): void {
    const vm = this.#vm();
    if (vm === undefined) return;
    const { os, hostname } = guestFacts(vm);
    this.#state = { at: "user" };
    this.#print(`${withIssue ? `\r\n${os.pretty} ${hostname} ttyS0\r\n\r\n` : ""}${hostname} login: `);
  }

  #machine(): Machine | undefined {
    const vm = this.#vm();
    if (vm?.process == null) return undefined;
    const { wires, withoutWires: reason } = this.#region;
    const withoutWires = wires === null ? reason : null;
    return { vm, nowMs: this.#region.runtime.nowMs(), bootedAtMs: vm.process.guestBootAt, withoutWires };
  }

  #prompt(shell: Shell): string {
    const machine = this.#machine();
    return machine === undefined ? "" : shell.prompt(machine);
  }
}

const crlf = (text: string): string => text.replaceAll("\n", "\r\n");
