// The contract limits what a report may contain. Texts come from hypervisors and errors and may be anything;
// a report that is refused because of its texts would leave a finished job without its end.

import type { Schemas } from "@kule/contract/schemas";
import type { StepEvent } from "@kule/programs/program";

const MESSAGE_CHARACTERS = 4_000;
const INTERNAL_CHARACTERS = 20_000;
const NAME_CHARACTERS = 60;
const REFERENCE_CHARACTERS = 300;

/** Step events of one report, in their order, as the contract has them. */
export function stepReport(...events: readonly StepEvent[]): Omit<Schemas["StepReport"], "epoch" | "seq"> {
  const last = events.at(-1);
  if (last === undefined) return {};
  const earlier = events.slice(0, -1);
  return {
    phase: last.phase,
    progress: Math.min(100, Math.max(0, Math.round(last.progress))),
    ...(earlier.length === 0
      ? {}
      : { earlier_steps: earlier.map((event) => ({ phase: event.phase, ...reportedStep(event) })) }),
    step: reportedStep(last),
    ...(events.some(({ irreversible }) => irreversible) ? { irreversible: true } : {}),
  };
}

const reportedStep = (event: StepEvent): Schemas["ReportedStep"] => ({
  name: stepName(event.name),
  status: event.status,
  message: event.message === null ? null : fitted(event.message, MESSAGE_CHARACTERS),
  external_ref: event.externalRef === null ? null : fitted(event.externalRef, REFERENCE_CHARACTERS),
});

/** An outcome with every text cut to what the contract allows. */
export function fittedOutcome(outcome: Schemas["JobOutcome"]): Schemas["JobOutcome"] {
  const { error } = outcome;
  if (error === undefined) return outcome;
  return {
    ...outcome,
    error: {
      ...error,
      code:
        error.code
          .toLowerCase()
          .replaceAll(/[^a-z0-9_]/g, "_")
          .slice(0, NAME_CHARACTERS) || "internal",
      message: fitted(error.message, MESSAGE_CHARACTERS),
      ...(error.internal === undefined ? {} : { internal: fitted(error.internal, INTERNAL_CHARACTERS) }),
      ...(error.step === undefined || error.step === null ? {} : { step: stepName(error.step) }),
    },
  };
}

const stepName = (name: string): string =>
  name.replaceAll(/[^A-Za-z0-9_. -]/g, "_").slice(0, NAME_CHARACTERS) || "step";

/** The control plane stores no NUL and no half of a surrogate pair; cutting may leave one. */
const fitted = (text: string, characters: number): string =>
  text.replaceAll("\0", "").slice(0, characters).toWellFormed();
