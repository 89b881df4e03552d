// Encodes a call: only the parameters of the table, in the form that it says.

import type { CallName } from "../generated/api.ts";
import { encodeForm } from "../wire-format.ts";
import type { Encoding, Parameter } from "./call-facts.ts";
import { DRIVER_CALLS } from "./driver-calls.ts";

export type EncodedCall = { readonly method: string; readonly path: string; readonly form: string };

const INDEXED = /^([a-z]+)\d+$/;

/** Throws a TypeError for a call or a parameter that is not in the table, and for a value of another kind. */
export function encodeCall(call: CallName, parameters: Readonly<Record<string, unknown>>): EncodedCall {
  const facts = Object.hasOwn(DRIVER_CALLS, call) ? DRIVER_CALLS[call] : undefined;
  if (facts === undefined) throw new TypeError(`${call} is not a call of the driver`);
  const [method = "", template = ""] = call.split(" ", 2);
  const rest = new Map<string, unknown>();
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined) continue;
    const parameter = parameterOf(facts.parameters, name);
    if (parameter === undefined) throw new TypeError(`${call} is never sent ${name}`);
    if (!isOf(parameter.as, value)) throw new TypeError(`${call}: ${name} is no ${parameter.as}`);
    rest.set(name, value);
  }
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const value = rest.get(name);
    if (value === undefined || value === "") throw new TypeError(`${call} needs ${name}`);
    rest.delete(name);
    return encodeURIComponent(String(value));
  });
  return { method, path, form: encodeForm(rest) };
}

function parameterOf(parameters: Readonly<Record<string, Parameter>>, name: string): Parameter | undefined {
  if (Object.hasOwn(parameters, name)) return parameters[name];
  const family = INDEXED.exec(name)?.[1];
  return family === undefined ? undefined : parameters[`${family}[n]`];
}

function isOf(encoding: Encoding, value: unknown): boolean {
  switch (encoding) {
    case "text":
      return typeof value === "string";
    case "number":
      return typeof value === "number" && Number.isFinite(value);
    case "flag":
      return typeof value === "boolean";
    case "list":
      return Array.isArray(value) && value.every((each) => typeof each === "string");
  }
}
