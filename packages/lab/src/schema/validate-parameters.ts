import { badParameters } from "../api-error.ts";
import type { Endpoint } from "./api-schema.ts";
import { checkObject } from "./check-property.ts";
import type { SchemaErrors } from "./property-schema.ts";

/** A request's parameters after decoding: text, arrays of text, or what JSON allows; undefined = given empty. */
export type RawParameters = Record<string, unknown>;

/** Parameters that are valid by the schema: text, or arrays where the schema has them. */
export type Parameters = Record<string, string | string[]>;

/**
 * Checks a request against its endpoint and returns the parameters as text.
 *
 * Throws the 400 of Proxmox VE with every offending parameter. An array given for a list-formatted
 * string is joined with commas, as the real decoder does.
 */
export function validateParameters(endpoint: Endpoint, raw: RawParameters): Parameters {
  const given: RawParameters = {};
  for (const [key, value] of Object.entries(raw)) {
    const property = endpoint.properties[key];
    if (Array.isArray(value) && property?.type === "string" && property.format?.endsWith("-list")) {
      given[key] = value.join(",");
    } else if (!Array.isArray(value) && property?.type === "array" && value !== undefined && value !== null) {
      given[key] = [value];
    } else {
      given[key] = value;
    }
  }
  const errors: SchemaErrors = {};
  checkObject("", endpoint.properties, given, errors);
  if (Object.keys(errors).length > 0) throw badParameters(errors);
  const result: Parameters = {};
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined || value === null) continue;
    if (Array.isArray(value)) result[key] = value.map(String);
    else result[key] = value === true ? "1" : value === false ? "0" : String(value);
  }
  return result;
}
