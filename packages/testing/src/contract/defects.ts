import { type JsonSchema, resolved, typesOf } from "./contract-schema.ts";

/** One way to make a valid value wrong. */
export type Defect = {
  /** Where the API must point: a JSON pointer, as the contract's FieldError has it. */
  readonly pointer: string;
  readonly name: string;
  /** Changes the value in place. */
  readonly plant: (value: unknown) => void;
};

type Container = Record<string, unknown>;

/** Every single defect that the schema detects, for this value: missing, additional, of another type, … */
export function defectsOf(schema: JsonSchema, value: unknown): Defect[] {
  return within(schema, value, []);
}

/** Whether both can be planted in one value and are each seen: neither hides the other's place. */
export function independent(one: Defect, other: Defect): boolean {
  const a = `${one.pointer}/`;
  const b = `${other.pointer}/`;
  return !a.startsWith(b) && !b.startsWith(a);
}

function within(schema: JsonSchema, value: unknown, path: readonly string[]): Defect[] {
  const own = resolved(schema);
  if (own.oneOf !== undefined) {
    const fitting = own.oneOf.find((branch) => fitsType(resolved(branch), value));
    return fitting === undefined ? [] : within(fitting, value, path);
  }
  if (Array.isArray(value)) return inList(own, value, path);
  if (typeof value === "object" && value !== null) return inObject(own, value as Container, path);
  return [];
}

function inObject(schema: JsonSchema, value: Container, path: readonly string[]): Defect[] {
  const found: Defect[] = [];
  const at = (name: string, what: string, plant: (container: Container) => void): Defect => ({
    pointer: pointerOf([...path, name]),
    name: what,
    plant: (root) => plant(reach(root, path) as Container),
  });
  for (const name of schema.required ?? [])
    if (name in value)
      found.push(
        at(name, "missing", (container) => {
          delete container[name];
        }),
      );
  // One property more would be a second mistake, of the object itself.
  const isFull =
    schema.additionalProperties === false &&
    schema.maxProperties !== undefined &&
    Object.keys(value).length >= schema.maxProperties;
  if (schema.additionalProperties === false && !isFull)
    for (const name of ["x_unknown", "Name", "constructor", "status"])
      if (!(name in (schema.properties ?? {})))
        found.push(
          at(name, "unknown field", (container) => {
            container[name] = 1;
          }),
        );
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    for (const [what, wrong] of isFull && !(name in value) ? [] : wrongValues(property))
      found.push(
        at(name, what, (container) => {
          container[name] = wrong;
        }),
      );
    if (name in value) found.push(...within(property, value[name], [...path, name]));
  }
  const rest = schema.additionalProperties;
  if (typeof rest === "object") {
    if (schema.propertyNames?.pattern !== undefined)
      found.push(
        at("bad key!", "bad key", (container) => {
          container["bad key!"] = "x";
        }),
      );
    for (const [what, wrong] of wrongValues(rest))
      found.push(
        at("k", what, (container) => {
          container.k = wrong;
        }),
      );
  }
  return found;
}

function inList(schema: JsonSchema, value: readonly unknown[], path: readonly string[]): Defect[] {
  const found: Defect[] = [];
  for (const [index, item] of value.entries()) {
    for (const [what, wrong] of wrongValues(schema.items ?? {}))
      found.push({
        pointer: pointerOf([...path, String(index)]),
        name: what,
        plant: (root) => {
          (reach(root, path) as unknown[])[index] = wrong;
        },
      });
    found.push(...within(schema.items ?? {}, item, [...path, String(index)]));
  }
  return found;
}

/** Values that do not fit, each with the name of its mistake. */
function wrongValues(schema: JsonSchema): [string, unknown][] {
  const own = resolved(schema);
  const branches = own.oneOf?.map(resolved) ?? [own];
  const types = branches.flatMap(typesOf);
  const wrong: [string, unknown][] = [];
  const samples: [string, unknown][] = [
    ["object", {}],
    ["array", []],
    ["boolean", true],
    ["integer", 7],
    ["string", "text"],
    ["null", null],
  ];
  if (types.length > 0)
    for (const [type, sample] of samples)
      if (!types.includes(type) && !(type === "integer" && types.includes("number")))
        wrong.push([`${type} for ${types.join("|")}`, sample]);
  if (own.oneOf !== undefined) return wrong;
  if (own.enum !== undefined)
    wrong.push(["not one of", own.enum.every((v) => typeof v === "string") ? "nonesuch" : 4711]);
  else if (types.includes("string")) wrong.push(...wrongTexts(own));
  if (types.includes("integer")) {
    wrong.push(["fraction", 1.5]);
    if (own.minimum !== undefined) wrong.push(["too small", own.minimum - 1]);
    if (own.maximum !== undefined) wrong.push(["too big", own.maximum + 1], ["huge", 1e300]);
  }
  if (types.includes("array")) {
    if (own.minItems !== undefined && own.minItems > 0) wrong.push(["too few", []]);
    if (own.maxItems !== undefined && takesAnyWord(own.items ?? {}))
      wrong.push(["too many", Array.from({ length: own.maxItems + 1 }, (_, index) => `x${index}`)]);
  }
  const most = own.maxProperties;
  if (types.includes("object") && most !== undefined) {
    const names = keysForWords(own).slice(0, most + 1);
    if (names.length > most)
      wrong.push(["too many keys", Object.fromEntries(names.map((name) => [name, "v"]))]);
  }
  return wrong;
}

/** Keys whose value may be any word: those of a map, or the properties of an object that has no others. */
function keysForWords({ properties = {}, additionalProperties, maxProperties = 0 }: JsonSchema): string[] {
  if (additionalProperties !== false)
    return Array.from({ length: maxProperties + 1 }, (_, index) => `k${index}`);
  return Object.entries(properties).flatMap(([name, property]) => {
    const { const: only, enum: some, pattern } = resolved(property);
    const isWord = typesOf(resolved(property)).includes("string");
    return isWord && only === undefined && some === undefined && pattern === undefined ? [name] : [];
  });
}

function wrongTexts(schema: JsonSchema): [string, unknown][] {
  const wrong: [string, unknown][] = [
    ["NUL", "a\0b"],
    ["half a surrogate pair", "a\ud800"],
  ];
  if (schema.minLength !== undefined && schema.minLength > 0) wrong.push(["empty", ""]);
  if (schema.maxLength !== undefined) wrong.push(["too long", "a".repeat(schema.maxLength + 1)]);
  if (schema.maxLength !== undefined && schema.maxLength < 100_000)
    wrong.push(["100 k long", "a".repeat(100_000)]);
  if (schema.pattern !== undefined && !new RegExp(schema.pattern).test("\u0001 \u0001"))
    wrong.push(["control characters", "\u0001 \u0001"]);
  if (schema.format === "date-time") wrong.push(["not a time", "yesterday"]);
  return wrong;
}

/** Whether a list can be made too long with generated items, each of them valid. */
function takesAnyWord(items: JsonSchema): boolean {
  const own = resolved(items);
  const fits = own.pattern === undefined || new RegExp(own.pattern).test("x1");
  return typesOf(own).includes("string") && own.enum === undefined && fits;
}

function fitsType(schema: JsonSchema, value: unknown): boolean {
  const types = typesOf(schema);
  if (value === null) return types.includes("null");
  if (Array.isArray(value)) return types.includes("array");
  if (Number.isInteger(value)) return types.includes("integer") || types.includes("number");
  return types.includes(typeof value);
}

function reach(root: unknown, path: readonly string[]): unknown {
  let value = root;
  for (const part of path) value = (value as Container)[part];
  return value;
}

function pointerOf(path: readonly string[]): string {
  return path.map((part) => `/${part.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
