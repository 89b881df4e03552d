import type { Schemas } from "@kule/contract/schemas";
import type { Messages } from "../../messages/messages.ts";

/** What a job does, in the page's words: an act of power by its own name. */
export function jobName(
  { jobs, operations }: Messages,
  { kind, action }: Pick<Schemas["Job"], "kind" | "action">,
): string {
  const acts = new Map(Object.entries(operations.actions));
  const act = kind === "ServerPower" ? acts.get(action ?? "") : undefined;
  return act ?? jobs.kind[kind] ?? kind;
}

/** The same with the name of what it is done to, where there is still one. */
export function jobSubject(messages: Messages, job: Schemas["Job"]): string {
  const { name } = job.resource;
  return name === null ? jobName(messages, job) : `${jobName(messages, job)} · ${name}`;
}
