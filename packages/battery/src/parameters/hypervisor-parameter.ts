import { apiSchema } from "@kule/lab/schema/api-schema";
import { checkProperty } from "@kule/lab/schema/check-property";

/** Proxmox VE's own API schema, cut down to the calls that the lab answers. */
const { endpoints } = apiSchema("9.2");

/**
 * Why Proxmox VE would refuse the text as that parameter of that call; null when it would accept it.
 *
 * @param call as in `POST /pools`
 */
export function refusal(call: string, parameter: string, text: string): string | null {
  const schema = endpoints.find(({ id }) => id === call)?.properties[parameter];
  if (schema === undefined) throw new Error(`the schema has no ${parameter} of ${call}`);
  const errors: Record<string, string> = {};
  checkProperty(text, schema, parameter, errors);
  return errors[parameter] ?? null;
}
