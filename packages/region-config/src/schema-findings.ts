import type { ErrorObject } from "ajv";
import { nearestName } from "./nearest-name.ts";
import type { RegionFileFinding } from "./region-file-error.ts";
import type { KeyPath, YamlSource } from "./yaml-source.ts";

/** A JSON Schema whose `x-fix` say what to write, and the other texts that messages about a document need. */
export type DocumentSchema = {
  readonly schema: { readonly $defs?: Readonly<Record<string, object>> };
  /** The generated function of the schema: fills in defaults, and leaves its findings in `errors`. */
  readonly validate: ((document: unknown) => boolean) & { readonly errors?: readonly ErrorObject[] | null };
  /** Where the keys are explained. */
  readonly guide: string;
  /** As in "secrets are not written into …". */
  readonly name: string;
  /** Texts for a `not` and a `false` in the schema. */
  readonly words?: {
    readonly not?: Wording;
    readonly never?: Wording;
  };
};
type Wording = { readonly message: string; readonly fix: string };

export type SchemaCheck = (document: unknown, source: YamlSource) => RegionFileFinding[];

/** Checks documents against the schema and fills in its defaults; every finding with its place and a fix. */
export function schemaCheck(about: DocumentSchema): SchemaCheck {
  const { validate } = about;
  return (document, source) => {
    if (validate(document)) return [];
    const findings = new Map<string, RegionFileFinding>();
    for (const error of validate.errors ?? []) {
      const found = describe(error, about);
      if (found === null) continue;
      const place = found.atKey ? source.placeOfKey(found.path) : source.placeOfValue(found.path);
      const key = nameOf(found.path);
      const identity = `${key} ${found.message}`;
      if (!findings.has(identity))
        findings.set(identity, { ...place, key, message: found.message, fix: found.fix });
    }
    return [...findings.values()];
  };
}

type Described = { path: KeyPath; atKey: boolean; message: string; fix: string };

function describe(error: ErrorObject, about: DocumentSchema): Described | null {
  const { keyword, params, schemaPath } = error;
  const path = pathOf(error.instancePath);
  const parent = (error.parentSchema ?? {}) as Subschema;
  const fix = parent["x-fix"] ?? `see ${about.guide}`;
  const here = (message: string, ownFix = fix): Described => ({ path, atKey: false, message, fix: ownFix });
  switch (keyword) {
    case "additionalProperties":
      return unknownKey([...path, String(params.additionalProperty)], parent, about);
    case "required": {
      if (/\/oneOf\/|\/not\//.test(schemaPath)) return null;
      const name = String(params.missingProperty);
      return here(`the key ${name} is missing`, fixOf(parent, name, about) ?? `add ${name}`);
    }
    case "oneOf": {
      const names = (parent.oneOf ?? []).flatMap((branch) => branch.required ?? []);
      const given = names.filter((name) => name in Object(error.data));
      return here(
        `exactly one of ${names.join(" and ")} is needed, ${given.length === 0 ? "there is none" : "both are there"}`,
        given.length === 0
          ? `add ${names[0]} with the name of an environment variable that holds the secret, or ${names[1]} with the path of a file`
          : `remove ${names[0]} or ${names[1]}`,
      );
    }
    case "not": {
      const { message, fix: way } = about.words?.not ?? { message: "is not allowed so", fix };
      return here(message, way);
    }
    case "false schema":
      return { path, atKey: true, ...(about.words?.never ?? { message: "has no meaning here", fix }) };
    case "type":
      return here(`must be ${kindOf(params.type)}, is ${kindOfValue(error.data)}`);
    case "enum":
      return here(`must be ${(params.allowedValues as unknown[]).join(" or ")}`);
    case "const":
      return here(`must be ${String(params.allowedValue)}`);
    case "pattern":
      // In propertyNames the key is what is wrong, and Ajv names it apart.
      return error.propertyName === undefined
        ? here("is not written as it must be")
        : { path: [...path, error.propertyName], atKey: true, message: "is not a valid name", fix };
    case "minimum":
    case "maximum":
      return here(`must be ${params.comparison} ${params.limit}`);
    case "minItems":
    case "minProperties":
      return here("is empty");
    case "maxProperties": {
      const given = Object.keys(Object(error.data));
      // An unknown key is reported for itself; without it there may be no second one.
      if (parent.properties && given.some((name) => !(name in Object(parent.properties)))) return null;
      return here(
        params.limit === 1
          ? `names more than one: ${given.join(", ")}`
          : `must have at most ${params.limit} entries`,
      );
    }
    case "maxItems":
    case "maxLength":
    case "minLength":
      return here(error.message ?? "has the wrong length");
    case "uniqueItems":
      return {
        path: [...path, String(params.i)],
        atKey: false,
        message: "is in the list twice",
        fix: "remove one",
      };
    default:
      return keyword === "if" || keyword === "propertyNames" ? null : here(error.message ?? "is not valid");
  }
}

type Subschema = {
  readonly "x-fix"?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly oneOf?: readonly { readonly required?: readonly string[] }[];
};

const LITERAL_SECRET = /token|password|passwd|secret|^key$|private_key/i;

function unknownKey(path: KeyPath, parent: Subschema, about: DocumentSchema): Described {
  const name = path.at(-1) ?? "";
  const known = Object.keys(parent.properties ?? {});
  const reference = known.find((each) => each.endsWith("_env"));
  const meant = nearestName(name, known);
  const at = { path, atKey: true } as const;
  if (LITERAL_SECRET.test(name) && reference !== undefined && !/_(env|file)$/.test(name))
    return {
      ...at,
      message: `secrets are not written into ${about.name}`,
      fix: `put the secret into an environment variable and write ${reference}: NAME_OF_THE_VARIABLE`,
    };
  return {
    ...at,
    message: `is not a key that is known here`,
    fix: meant === null ? `remove it; known here: ${known.join(", ")}` : `did you mean ${meant}?`,
  };
}

function fixOf(parent: Subschema, name: string, { schema }: DocumentSchema): string | undefined {
  const property = (parent.properties?.[name] ?? {}) as { "x-fix"?: string; $ref?: string };
  const named = property.$ref?.split("/").at(-1);
  const fix =
    property["x-fix"] ??
    (named === undefined ? undefined : (schema.$defs?.[named] as Subschema | undefined)?.["x-fix"]);
  return fix === undefined ? undefined : `add ${name}: ${fix}`;
}

function pathOf(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** `hypervisor.endpoints[0]`, as people write it. */
export function nameOf(path: KeyPath): string {
  return path.reduce(
    (name, part) => (/^\d+$/.test(part) && name ? `${name}[${part}]` : name ? `${name}.${part}` : part),
    "",
  );
}

const WORDS: Readonly<Record<string, string>> = {
  object: "a section with keys",
  array: "a list",
  string: "a text",
  integer: "a whole number",
  boolean: "true or false",
};

const kindOf = (type: unknown): string =>
  (Array.isArray(type) ? type : [type]).map((each) => WORDS[String(each)] ?? String(each)).join(" or ");

function kindOfValue(value: unknown): string {
  if (value === null || value === undefined) return "empty";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a section with keys";
  if (typeof value === "number") return Number.isInteger(value) ? "a number" : "a number with a fraction";
  return typeof value === "boolean" ? "true or false" : "a text";
}
