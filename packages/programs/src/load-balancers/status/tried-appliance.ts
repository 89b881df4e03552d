import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:net";
import { join, resolve } from "node:path";
import { StateGuest, stateScript } from "../../testing/state-guest.ts";

const tree = resolve(import.meta.dirname, "../../../../..");
const recipe = join(tree, "infra/images/kule-lb");
/** What the appliance is called with in its state's check. */
export const SCRIPT = "kule-lb";

/** Why this machine cannot run the appliance's programs; nothing when it can. */
export function probeHaproxy(): string | undefined {
  const missing = ["/usr/sbin/haproxy", "/usr/bin/socat", "/usr/bin/mawk"].filter(
    (file) => !existsSync(file),
  );
  return missing.length === 0 ? undefined : `${missing.join(" and ")} does not exist`;
}

export type Ended = { readonly exitCode: number; readonly output: string; readonly errors: string };

/**
 * The appliance of a load balancer without its machine: its scripts, run by this machine's shell in a directory of
 * their own, and a `systemctl` that runs the commands of the image's drop-in for haproxy and starts it again as systemd does.
 */
export class TriedAppliance {
  readonly guest: StateGuest;
  readonly run: string;
  readonly #sockets: Server[] = [];

  /** @param change of the script's text: for showing what a test finds without a part of it */
  constructor(change: (script: string) => string = (script) => script) {
    // A busy machine needs longer than an appliance may.
    const patient = readFileSync(join(tree, stateScript), "utf8").replace(
      /(validate|activate|check) (15|20)\b/g,
      "$1 200",
    );
    const unpacked = '  chmod 700 "$root/unpacked"\n';
    if (!patient.includes(unpacked)) throw new Error("the script unpacks otherwise");
    this.guest = new StateGuest(false, patient.replace(unpacked, `${unpacked}${inOwnPlace}`));
    this.run = join(this.guest.directory, "run");
    mkdirSync(this.run);
    const bin = join(this.guest.directory, "bin");
    symlinkSync("/usr/sbin/haproxy", join(bin, "haproxy"));
    // As in the image.
    symlinkSync("/usr/bin/mawk", join(bin, "awk"));
    this.program(SCRIPT, change(this.#script(bin)));
    const unit = readFileSync(join(recipe, "haproxy.conf"), "utf8");
    this.program("haproxy-loop", this.#loop(unit));
    this.program("systemctl", this.#systemctl(unit));
  }

  /** Runs the appliance's own script. */
  call(...args: readonly string[]): Promise<Ended> {
    const child = spawn("/bin/sh", [join(this.guest.directory, "bin", SCRIPT), ...args], { env: {} });
    let output = "";
    let errors = "";
    child.stdout.on("data", (part) => {
      output += part;
    });
    child.stderr.on("data", (part) => {
      errors += part;
    });
    return new Promise((done) => {
      child.once("close", (exitCode) => done({ exitCode: exitCode ?? -1, output, errors }));
    });
  }

  /** Puts files into the state in force, without kule-state. */
  place(files: Readonly<Record<string, string>>): void {
    for (const [path, content] of Object.entries(files)) {
      const file = join(this.guest.directory, "root/current/files", path);
      mkdirSync(resolve(file, ".."), { recursive: true });
      writeFileSync(file, content);
    }
  }

  /** What the last `prepare` wrote for the next worker, without its two heading lines. */
  states(): string[] {
    return readFileSync(join(this.run, "server-state"), "utf8").trimEnd().split("\n").slice(2);
  }

  /** What haproxy has logged. */
  log(): string {
    const file = join(this.guest.directory, "haproxy.log");
    return existsSync(file) ? readFileSync(file, "utf8") : "";
  }

  /** Answers in the place of haproxy at one of its sockets. */
  async answer(socket: "admin" | "master", text: (commands: string) => string): Promise<void> {
    const server = createServer((connection) => {
      connection.once("data", (commands) => connection.end(text(commands.toString().trim())));
      connection.on("error", () => {});
    });
    this.#sockets.push(server);
    await new Promise<void>((done) => server.listen(join(this.run, `${socket}.sock`), done));
  }

  async silence(): Promise<void> {
    for (const server of this.#sockets.splice(0)) await new Promise((done) => server.close(done));
  }

  /** Puts a program before those of this machine. */
  program(name: string, content: string): void {
    const file = join(this.guest.directory, "bin", name);
    writeFileSync(file, content);
    chmodSync(file, 0o755);
  }

  async close(): Promise<void> {
    await this.silence();
    writeFileSync(join(this.guest.directory, "stopped"), "");
    const master = pidIn(join(this.run, "haproxy.pid"));
    if (master !== null) end(master);
    const loop = pidIn(join(this.guest.directory, "loop.pid"));
    if (loop !== null)
      await new Promise((done) => spawn("tail", [`--pid=${loop}`, "-f", "/dev/null"]).once("close", done));
    this.guest.close();
  }

  #script(bin: string): string {
    const values = {
      PATH: `${bin}:/usr/sbin:/usr/bin:/sbin:/bin`,
      state: join(this.guest.directory, "root/current/files"),
      run: this.run,
      programs: recipe,
      reserved_ports: join(this.guest.directory, "reserved-ports"),
      answer_seconds: "20",
      reload_seconds: "10",
    };
    let script = readFileSync(join(recipe, "kule-lb"), "utf8");
    for (const [name, value] of Object.entries(values)) {
      const line = new RegExp(`^${name}=.*$`, "m");
      if (!line.test(script)) throw new Error(`the script has no ${name}`);
      script = script.replace(line, `${name}=${value}`);
    }
    return script;
  }

  /** The commands of the drop-in, with the paths of this directory. */
  #commands(unit: string, word: string): string[] {
    const { directory } = this.guest;
    const commands = [...unit.matchAll(new RegExp(`^${word}=-?(.+)$`, "gm"))].map(([, command = ""]) =>
      command
        .replaceAll("/var/lib/kule-state", `${directory}/root`)
        .replaceAll("/run/kule-lb", this.run)
        .replaceAll("/usr/local/sbin/", `${directory}/bin/`)
        .replaceAll("$MAINPID", `$(cat ${this.run}/haproxy.pid)`),
    );
    if (commands.length === 0) throw new Error(`the drop-in has no ${word}`);
    return commands;
  }

  #loop(unit: string): string {
    const { directory } = this.guest;
    return [
      "#!/bin/sh",
      `echo $$ > ${directory}/loop.pid`,
      // Nothing goes on when the test's process was killed.
      `(while kill -0 ${process.pid}; do sleep 1; [ -d ${directory} ] || exit; done; touch ${directory}/stopped; kill $(cat ${this.run}/haproxy.pid)) 2>/dev/null &`,
      `while [ ! -e ${directory}/stopped ]; do`,
      ...this.#commands(unit, "ExecStartPre"),
      ...this.#commands(unit, "ExecStart"),
      "sleep 0.2",
      "done",
      "",
    ].join("\n");
  }

  #systemctl(unit: string): string {
    const { directory } = this.guest;
    return [
      "#!/bin/sh",
      `echo "$@" >> ${directory}/systemctl.log`,
      `case "$*" in "reload-or-restart haproxy.service") ;; is-active*) exit 3 ;; *) exit 0 ;; esac`,
      `if [ -e ${directory}/loop.pid ]; then`,
      this.#commands(unit, "ExecReload").join(" &&\n"),
      "  exit",
      "fi",
      `${directory}/bin/haproxy-loop >> ${directory}/haproxy.log 2>&1 &`,
      // As a unit of Type=notify is started.
      `until echo 'show proc' | socat -t 20 - UNIX-CONNECT:${this.run}/master.sock 2>/dev/null | grep -q ' worker '; do sleep 0.2; done`,
      "",
    ].join("\n");
  }
}

/** What the rules render names the appliance's places and users: here those of the test. */
const inOwnPlace = `
  sed -i -e "s#/run/kule-lb/#$root/../run/#" -e '/^    \\(user\\|group\\|chroot\\) /d' "$root/unpacked/files/haproxy/haproxy.cfg"
  sed -i 's#/usr/local/sbin/kule-lb#kule-lb#' "$root/unpacked/check"
`;

function pidIn(file: string): number | null {
  if (!existsSync(file)) return null;
  const pid = Number(readFileSync(file, "utf8"));
  return Number.isSafeInteger(pid) && pid > 1 ? pid : null;
}

function end(pid: number): void {
  try {
    process.kill(pid, "SIGTERM");
  } catch {
    // It has ended by itself.
  }
}
