import type { RequestBody } from "@kule/contract/schemas";
import { attempt, conflictOf } from "../../api.ts";
import type { ConsoleContext } from "../../console-context.ts";
import { type FieldProblems, noProblems } from "../../layout/fields.tsx";
import { typedNumber } from "../../posted-form.ts";
import { fieldProblems } from "../../problem-messages.ts";

const fields = ["from", "from_address", "to", "to_address", "protocol", "port"] as const;
export type Values = Readonly<Partial<Record<(typeof fields)[number], string>>>;

/** A question as it was typed, with the API's field errors. */
export type Question = { readonly values: Values; readonly problems: FieldProblems };

/**
 * The answer to the question in the page's address; without a verdict when there is no question, or when the API
 * refuses it.
 *
 * @throws ApiAway, ApiRefused
 */
export async function answerQuestion<Verdict>(
  context: ConsoleContext,
  ask: (body: RequestBody<"explainNetwork">) => Parameters<typeof attempt<Verdict>>[0],
): Promise<Question & { readonly verdict: Verdict | null }> {
  const values = readQuestion((name) => context.req.query(name));
  if (values === null) return { values: {}, problems: noProblems, verdict: null };
  const outcome = await attempt(ask(questionBody(values)));
  if (outcome.kind === "done") return { values, problems: noProblems, verdict: outcome.data };
  const { messages } = context.get("view");
  const { fields, rest } = fieldProblems(conflictOf(outcome), messages, questionField);
  const problems = rest.length === 0 ? fields : { ...fields, to: [...(fields.to ?? []), ...rest] };
  return { values, problems, verdict: null };
}

/** The question in an address of the panel; null when there is none. */
function readQuestion(query: (name: string) => string | undefined): Values | null {
  if (query("protocol") === undefined) return null;
  return Object.fromEntries(fields.map((name) => [name, (query(name) ?? "").trim()]));
}

function questionBody(values: Values): RequestBody<"explainNetwork"> {
  const end = (chosen = "", address = "") =>
    chosen.startsWith("srv_") ? { server_id: chosen } : { address };
  return {
    from: end(values.from, values.from_address),
    to: end(values.to, values.to_address),
    protocol: values.protocol as "tcp",
    ...(values.protocol === "icmp" || (values.port ?? "") === ""
      ? {}
      : { port: typedNumber(values.port ?? "") }),
  };
}

/** The form's field for an error. */
function questionField(pointer: string): string | null {
  const name = pointer.split("/")[1];
  return fields.find((field) => field === name) ?? null;
}
