import { openapi } from "@kule/contract/generated/openapi";
import { expect, test } from "vitest";
import { messagesOf } from "./messages.ts";

type Schema = {
  readonly $ref?: string;
  readonly pattern?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
};
type Operation = { readonly requestBody?: { readonly content?: object } };

const { paths, components } = openapi as unknown as {
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, Schema> };
};

/** Every field of a body that is refused when it does not match a pattern, but for those that agents send. */
function formattedFields(): Set<string> {
  const found = new Set<string>();
  const walk = (given: Schema, name: string): void => {
    const { $ref, pattern, properties = {}, items, ...rest } = given;
    if ($ref !== undefined) walk(components.schemas[$ref.split("/").at(-1) ?? ""] ?? {}, name);
    if (pattern !== undefined) found.add(name);
    for (const branch of [rest.oneOf, rest.anyOf, rest.allOf].flatMap((each) => each ?? []))
      walk(branch, name);
    for (const [key, property] of Object.entries(properties)) walk(property, key);
    if (items !== undefined) walk(items, name);
  };
  for (const [path, operations] of Object.entries(paths))
    for (const { requestBody } of Object.values(operations))
      for (const { schema } of Object.values(requestBody?.content ?? {}) as { schema: Schema }[])
        if (!path.startsWith("/agent/")) walk(schema, "");
  return found;
}

/** What no form of the panel lets a person type wrong. */
const neverTyped = new Set([
  // Chosen from a list.
  ...["region", "package", "provider", "scopes", "version"],
  // In no text field of a form.
  ...["username", "fingerprint"],
  // Any text but control characters, or anything but spaces.
  ...["description", "reason"],
  // A range of a pool is typed as a block.
  ...["start", "end"],
]);

test.each(["en", "tr"] as const)("in %s every format that can be typed has an example", (language) => {
  const examples = Object.keys(messagesOf(language).fieldFormats);
  const typed = [...formattedFields()].filter((name) => !neverTyped.has(name));
  expect(examples.sort()).toEqual(typed.sort());
  for (const text of Object.values(messagesOf(language).fieldFormats))
    expect(text).toMatch(/\d|@|example|TR/);
});
