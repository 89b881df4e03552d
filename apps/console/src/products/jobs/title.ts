import type { Schemas } from "@kule/contract/schemas";
import type { Messages } from "../../messages/messages.ts";

/** A job's action as text: a power action has its own name. */
export function jobName(
  { jobs, operations }: Messages,
  { kind, action }: Pick<Schemas["Job"], "kind" | "action">,
): string {
  const acts = new Map(Object.entries(operations.actions));
  const act = kind === "ServerPower" ? acts.get(action ?? "") : undefined;
  return act ?? jobs.kind[kind] ?? kind;
}

/** The same with the name of its target, if the target still exists. */
export function jobSubject(messages: Messages, job: Schemas["Job"]): string {
  const { name } = job.resource;
  return name === null ? jobName(messages, job) : `${jobName(messages, job)} · ${name}`;
}
