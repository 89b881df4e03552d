import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import schema from "../schema/region.schema.json" with { type: "json" };

type Described = {
  additionalProperties?: boolean | Described;
  properties?: Record<string, Described>;
  "x-fix"?: string;
  $ref?: string;
};

function keysOf(node: Described, prefix = ""): string[] {
  const entries =
    typeof node.additionalProperties === "object" ? node.additionalProperties.properties : undefined;
  return Object.entries({ ...node.properties, ...entries }).flatMap(([name, property]) => [
    `${prefix}${name}`,
    ...keysOf(property, `${prefix}${name}.`),
  ]);
}

it("docs/region-file.md explains every key of the schema, and no other", () => {
  const page = readFileSync(new URL("../../../docs/region-file.md", import.meta.url), "utf8");
  const documented = [...page.matchAll(/^\| `([a-z_.]+)` \|/gm)].map((match) => match[1]);
  const sections = new Set(
    keysOf(schema as Described).flatMap((key) =>
      key
        .split(".")
        .slice(0, -1)
        .map((_, n, all) => all.slice(0, n + 1).join(".")),
    ),
  );
  const leaves = keysOf(schema as Described).filter((key) => !sections.has(key));
  expect(documented.toSorted()).toEqual(leaves.toSorted());
});
