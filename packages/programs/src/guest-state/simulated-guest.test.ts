// The simulated appliance of the lab beside the script that a real one runs: the same calls, the same answers.

import { createHash, randomBytes } from "node:crypto";
import { gzipSync } from "node:zlib";
import { emptyAppliance, runKuleState, type StatePrograms } from "@kule/lab/appliances/kule-state";
import { afterEach, expect, test } from "vitest";
import { stateOf } from "../testing/killed-guest-state.ts";
import { noEffect, StateGuest } from "../testing/state-guest.ts";
import { type Bundle, renderBundle } from "./bundle.ts";

const guests: StateGuest[] = [];
afterEach(() => {
  for (const guest of guests.splice(0)) guest.close();
});

type Call = { readonly args: readonly string[]; readonly input?: string };
const show: Call = { args: ["show"] };
const receive = ({ generation, sha256 }: Bundle, offset: number | string, input: string): Call => ({
  args: ["receive", String(generation), sha256, String(offset)],
  input,
});
const apply = ({ generation, sha256 }: Pick<Bundle, "generation" | "sha256">): Call => ({
  args: ["apply", String(generation), sha256],
});
const whole = (bundle: Bundle): Call[] => [receive(bundle, 0, bundle.text), show, apply(bundle), show];

/** Of bundles that are refused, which of their programs fails. */
function failing(bundles: Readonly<Record<string, "validate" | "activate" | "check">>): StatePrograms {
  const when = (by: "validate" | "activate" | "check") => (bundle: { readonly sha256: string }) =>
    bundles[bundle.sha256] === by ? "said by the program" : null;
  return {
    receive: () => null,
    validate: when("validate"),
    activate: when("activate"),
    check: when("check"),
  };
}

const says = "echo said by the program; exit 1";
const first = renderBundle(stateOf(3));
const second = renderBundle(stateOf(4));
const invalid = renderBundle(stateOf(5, { validate: ["sh", "-c", says] }));
const wrong = renderBundle(stateOf(5, { check: ["sh", "-c", says] }));
const large = renderBundle(stateOf(6, { files: [{ path: "x", mode: 0o600, content: randomBytes(90_000) }] }));
const noTar = "this is no tar file".repeat(100);
const noTarBundle: Bundle = {
  generation: 7,
  sha256: createHash("sha256").update(noTar).digest("hex"),
  text: gzipSync(noTar).toString("base64"),
};
const programs = failing({ [invalid.sha256]: "validate", [wrong.sha256]: "check" });

test.each<[string, readonly Call[]]>([
  ["a state and the next one", [show, ...whole(first), ...whole(second)]],
  ["a state twice", [...whole(first), ...whole(first), apply(first)]],
  ["an older state", [...whole(second), ...whole(first)]],
  ["a state that is not valid", [...whole(first), ...whole(invalid), apply(invalid)]],
  ["a first state that does not pass its check", [...whole(wrong), show]],
  ["a state that does not pass its check", [...whole(first), ...whole(wrong), ...whole(second)]],
  [
    "parts that are missing, twice there or of another state",
    [
      receive(large, 100, "x"),
      receive(large, 0, large.text.slice(0, 40_000)),
      receive(large, 20_000, large.text.slice(20_000, 70_000)),
      show,
      apply(large),
      receive(second, 5, "x"),
      show,
    ],
  ],
  ["more than one part may have", [receive(large, 0, large.text.slice(0, 65_536)), show]],
  [
    "a bundle that is another one, or none",
    [receive(first, 0, second.text), apply(first), ...whole(noTarBundle)],
  ],
  [
    "wrong calls",
    [
      { args: [] },
      { args: ["remove"] },
      { args: ["apply", "x", first.sha256] },
      { args: ["apply", "1", "abc"] },
      { args: ["apply", "1".repeat(16), first.sha256] },
      receive(first, "-1", ""),
      apply(first),
      show,
    ],
  ],
])("answers %s as the script does", async (_, calls) => {
  const guest = new StateGuest();
  guests.push(guest);
  let memory = emptyAppliance;
  for (const { args, input = "" } of calls) {
    const real = await guest.hypervisor.runInGuest(
      guest.vmid,
      guest.owner,
      { argv: ["kule-state", ...args], input },
      noEffect,
    );
    const simulated = runKuleState(memory, args, input, programs, 0);
    memory = simulated.memory ?? memory;
    const { exitcode, output, errors } = simulated;
    expect(
      { exitCode: exitcode, output, errors: errors.replaceAll(/tar: .*\n/g, "") },
      args.join(" "),
    ).toEqual({
      ...real,
      errors: real?.errors.replaceAll(/tar: .*\n/g, ""),
    });
  }
});
