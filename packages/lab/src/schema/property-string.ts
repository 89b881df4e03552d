import { namedPropertyFormat } from "./property-formats.ts";
import { defaultKeyOf, type PropertyFormat, type PropertyMap } from "./property-schema.ts";

/** Prints in Proxmox VE's order: default key first, then required keys, then the rest, each sorted. */
export function printPropertyString(map: PropertyMap, format: string | PropertyFormat): string {
  const schema = typeof format === "string" ? namedPropertyFormat(format) : format;
  const done = new Set<string>();
  const parts: string[] = [];
  const combined = new Map<string, string>();
  for (const property of Object.values(schema)) {
    if (property.alias !== undefined && property.keyAlias !== undefined) {
      combined.set(property.keyAlias, property.alias);
    }
  }
  const defaultKey = defaultKeyOf(schema);
  const add = (key: string): void => {
    const value = map[key];
    if (value === undefined || done.has(key)) return;
    done.add(key);
    const partner = combined.get(key);
    const partnerValue = partner === undefined ? undefined : map[partner];
    if (partner !== undefined && partnerValue !== undefined) {
      done.add(partner);
      parts.push(`${value}=${partnerValue}`);
    } else {
      parts.push(key === defaultKey ? value : `${key}=${value}`);
    }
  };
  const keys = Object.keys(map).sort();
  if (defaultKey !== undefined) add(defaultKey);
  for (const key of keys) if (!schema[key]?.optional) add(key);
  for (const key of keys) add(key);
  return parts.join(",");
}
