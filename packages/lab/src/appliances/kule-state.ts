import type { ApplianceMemory } from "../documents.ts";
import { type GuestBundle, readBundle } from "./guest-bundle.ts";

/*
 * The script kule-state of the images (infra/images/guest-state) as a simulated guest answers it: the same exit codes,
 * outputs and limits. The programs of a bundle are not run: whether they succeed is told.
 */

/** Which of a state's programs fail, and what they print; and why a part cannot be written. */
export interface StatePrograms {
  receive(): string | null;
  validate(bundle: GuestBundle): string | null;
  activate(bundle: GuestBundle): string | null;
  check(bundle: GuestBundle): string | null;
}

export interface StateAnswer {
  readonly exitcode: number;
  readonly output: string;
  readonly errors: string;
  /** Afterwards, when it has changed. */
  readonly memory?: ApplianceMemory;
}

export const emptyAppliance: ApplianceMemory = {
  incoming: null,
  states: {},
  current: null,
  applied: null,
  activatedAt: 0,
};

const MOST_BYTES = 8_388_608;
const PART_BYTES = 65_536;
const MOST_OUTPUT = 2_000;
const NUMBER = /^[0-9]{1,15}$/;
const SHA256 = /^[0-9a-f]{64}$/;
const USAGE = "usage: kule-state show | receive GENERATION SHA256 OFFSET | apply GENERATION SHA256\n";

const failed = (exitcode: number, errors: string): StateAnswer => ({
  exitcode,
  output: "",
  errors: `${errors}\n`,
});

/** @param nowMs by the guest's clock */
export function runKuleState(
  memory: ApplianceMemory,
  args: readonly string[],
  input: string,
  programs: StatePrograms,
  nowMs: number,
): StateAnswer {
  const [command, generation = "", sha256 = "", offset = ""] = args;
  if (command === "show") return { exitcode: 0, output: shown(memory, programs), errors: "" };
  if (command !== "receive" && command !== "apply") return { exitcode: 2, output: "", errors: USAGE };
  if (!NUMBER.test(generation)) return failed(2, "the generation is no number");
  if (!SHA256.test(sha256)) return failed(2, "the SHA-256 is none");
  const name = `${generation}-${sha256}`;
  if (command === "apply") return new Application(memory, name, programs, nowMs).carriedOut();
  if (!NUMBER.test(offset)) return failed(2, "the offset is no number");
  const notWritten = programs.receive();
  return notWritten === null ? received(memory, name, Number(offset), input) : failed(1, notWritten);
}

const bundleOf = ({ states }: ApplianceMemory, name: string): GuestBundle => readBundle(states[name] ?? "");

function shown(memory: ApplianceMemory, programs: StatePrograms): string {
  const { current, applied, incoming } = memory;
  const lines = [
    ...(current === null ? [] : [`current ${current}`]),
    ...(applied === null ? [] : [`applied ${applied}`]),
    ...(incoming === null ? [] : [`received ${incoming.name} ${incoming.text.length}`]),
  ];
  if (applied !== null && applied === current)
    lines.push(programs.check(bundleOf(memory, current)) === null ? "check passed" : "check failed");
  return lines.map((line) => `${line}\n`).join("");
}

function received(memory: ApplianceMemory, name: string, offset: number, input: string): StateAnswer {
  const there = memory.incoming?.name === name ? memory.incoming.text : "";
  const kept: ApplianceMemory = { ...memory, incoming: there === "" ? null : { name, text: there } };
  if (there.length < offset)
    return { ...failed(3, `${there.length} bytes are there, not ${offset}`), memory: kept };
  const text = there.slice(0, offset) + input.slice(0, PART_BYTES);
  if (text.length > MOST_BYTES)
    return {
      ...failed(4, `the bundle is larger than ${MOST_BYTES} bytes`),
      memory: { ...memory, incoming: null },
    };
  return {
    exitcode: 0,
    output: `received ${name} ${text.length}\n`,
    errors: "",
    memory: { ...memory, incoming: { name, text } },
  };
}

class Application {
  #memory: ApplianceMemory;
  readonly #name: string;
  readonly #programs: StatePrograms;
  readonly #nowMs: number;

  constructor(memory: ApplianceMemory, name: string, programs: StatePrograms, nowMs: number) {
    this.#memory = memory;
    this.#name = name;
    this.#programs = programs;
    this.#nowMs = nowMs;
  }

  carriedOut(): StateAnswer {
    const { current, applied } = this.#memory;
    const latest = Number(current?.split("-")[0] ?? "0");
    if (current !== null && latest > Number(this.#name.split("-")[0]))
      return failed(5, `generation ${latest} is here already`);
    if (applied === this.#name && current === this.#name && this.#check() === null) return this.#done();
    const refusal = this.#memory.states[this.#name] === undefined ? this.#unpack() : null;
    if (refusal !== null) return refusal;
    this.#switchTo(this.#name);
    const notActive = this.#programs.activate(bundleOf(this.#memory, this.#name));
    if (notActive !== null)
      return this.#wentBack(8, notActive, "the units of the new state could not be started");
    const notPassed = this.#check();
    if (notPassed !== null) return this.#wentBack(9, notPassed, "the new state does not pass its check");
    this.#memory = { ...this.#memory, applied: this.#name };
    return this.#done();
  }

  #check(): string | null {
    return this.#programs.check(bundleOf(this.#memory, this.#name));
  }

  #unpack(): StateAnswer | null {
    const { incoming } = this.#memory;
    if (incoming?.name !== this.#name) return failed(3, "nothing of this bundle was received");
    const bundle = readBundle(incoming.text);
    if (bundle.sha256 !== this.#name.split("-")[1])
      return failed(6, "the bundle has another SHA-256 than was announced");
    if (bundle.files === null) return failed(6, "the bundle is no tar file");
    const notValid = this.#programs.validate(bundle);
    if (notValid !== null) return failed(7, `${notValid.slice(0, MOST_OUTPUT)}\nthe new state is not valid`);
    this.#memory = {
      ...this.#memory,
      states: { ...this.#memory.states, [this.#name]: incoming.text },
    };
    return null;
  }

  #switchTo(name: string): void {
    this.#memory = { ...this.#memory, current: name, activatedAt: this.#nowMs };
  }

  /** To the state before, where there is one. */
  #wentBack(exitcode: number, printed: string, why: string): StateAnswer {
    const { applied, states } = this.#memory;
    if (applied !== null && applied !== this.#name && states[applied] !== undefined) this.#switchTo(applied);
    return { ...failed(exitcode, `${printed.slice(0, MOST_OUTPUT)}\n${why}`), memory: this.#memory };
  }

  #done(): StateAnswer {
    const text = this.#memory.states[this.#name];
    const memory: ApplianceMemory = {
      ...this.#memory,
      incoming: null,
      states: text === undefined ? {} : { [this.#name]: text },
    };
    return { exitcode: 0, output: "", errors: "", memory };
  }
}
