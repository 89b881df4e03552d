import type { RequestBody, Schemas } from "@kule/contract/schemas";
import { typedNumber } from "../../posted-form.ts";

export const daysOfWeek = [
  "mon",
  "tue",
  "wed",
  "thu",
  "fri",
  "sat",
  "sun",
] as const satisfies readonly Schemas["AgentUpdateWindow"]["days"][number][];

export const settingsFields = [
  "channel",
  "from_time",
  "to_time",
  "wait_minutes",
  "max_at_once",
  "paused",
  "automatic",
] as const;

export type SettingsValues = Readonly<Record<(typeof settingsFields)[number] | "days", string>>;

export function valuesOf(settings: Schemas["AgentUpdateSettings"]): SettingsValues {
  return {
    channel: settings.channel,
    days: settings.window?.days.join(" ") ?? "",
    from_time: settings.window?.from_time ?? "",
    to_time: settings.window?.to_time ?? "",
    wait_minutes: String(settings.wait_minutes),
    max_at_once: String(settings.max_at_once),
    paused: settings.paused ? "true" : "",
    automatic: settings.automatic ? "true" : "",
  };
}

/** Without a day there is no window: regions are updated at any time. */
export function toSettingsBody(values: SettingsValues): RequestBody<"updateAgentUpdates"> {
  const days = values.days.split(" ").filter((day) => day !== "");
  const { from_time, to_time } = values;
  return {
    channel: values.channel as Schemas["AgentChannel"],
    window:
      days.length === 0 ? null : { days: days as Schemas["AgentUpdateWindow"]["days"], from_time, to_time },
    wait_minutes: typedNumber(values.wait_minutes),
    max_at_once: typedNumber(values.max_at_once),
    paused: values.paused === "true",
    automatic: values.automatic === "true",
  };
}
