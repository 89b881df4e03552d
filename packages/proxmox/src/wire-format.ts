// How Proxmox encodes parameters, and its errors.

import type { HttpAnswer } from "./http-exchange.ts";

/** Booleans must be exactly 1 or 0. URLSearchParams escapes "=", ";" and "+", at which Proxmox' decoder cuts. */
export function encodeForm(parameters: ReadonlyMap<string, unknown>): string {
  const form = new URLSearchParams();
  for (const [key, value] of parameters) {
    const values = Array.isArray(value) ? value : [value];
    for (const each of values)
      form.append(key, typeof each === "boolean" ? (each ? "1" : "0") : String(each));
  }
  return form.toString();
}

export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Reason phrase and, since 8.4, `message`; and the parameter errors. Older versions have only the phrase. */
export function textOfFailure(answer: HttpAnswer): string {
  const parsed = parseJson(answer.body);
  const parts = [answer.reason.trim()];
  if (parsed !== null && typeof parsed === "object") {
    if ("message" in parsed && typeof parsed.message === "string") {
      const message = parsed.message.trim();
      // The phrase is the message's first line: no need to have it twice.
      if (message !== "") parts[0] = message;
    }
    if ("errors" in parsed && parsed.errors !== null && typeof parsed.errors === "object")
      for (const [name, why] of Object.entries(parsed.errors)) parts.push(`${name}: ${String(why).trim()}`);
  }
  return parts.filter((part) => part !== "").join("; ") || "no reason given";
}
