import type { Problem } from "../../api.ts";
import type { Messages } from "../../messages/messages.ts";
import { sentence } from "../../problem-messages.ts";
import type { FileProblem } from "./props.ts";

/** Longer lines are cut: a key can have thousands of characters. */
const longestShown = 200;

/**
 * What is wrong in a zone file, by its lines. Empty when the refusal is about something else, or when the file is too
 * long as a whole.
 */
export function fileProblems(problem: Problem, messages: Messages, file: string): FileProblem[] {
  const lines = file.split(/\r?\n/);
  const general: Readonly<Record<string, string | undefined>> = messages.fieldErrors;
  const own = messages.domains.import.problems;
  return (problem.errors ?? []).flatMap(({ pointer, code, message }) => {
    const [, list, place = ""] = pointer.split("/");
    if (list !== "zone_file" || place === "") return [];
    const line = /^\d+$/.test(place) ? Number(place) : null;
    // The place is shown beside the words.
    const words =
      messages.locale === "en"
        ? message.replace(/^line \d+( \([^)]*\))?: /, "")
        : (own[code] ?? general[code]);
    const about = line === null ? `${pointer.split("/").slice(2).join(" ")}: ` : "";
    return [
      {
        line,
        text: `${about}${sentence(words ?? message, messages.locale)}`,
        typed: line === null ? "" : (lines[line - 1] ?? "").trim().slice(0, longestShown),
      },
    ];
  });
}
