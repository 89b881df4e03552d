/** One parameter or one key of a property string, as in the API schema. */
export interface PropertySchema {
  readonly type?: string;
  readonly optional?: number | boolean;
  readonly format?: string;
  readonly enum?: readonly string[];
  readonly minimum?: number | string;
  readonly maximum?: number | string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly pattern?: string;
  readonly requires?: string;
  readonly alias?: string;
  readonly keyAlias?: string;
  readonly default_key?: number | boolean;
  readonly default?: unknown;
  readonly items?: PropertySchema;
}

export type PropertyFormat = Readonly<Record<string, PropertySchema>>;

/** A parsed property string: canonical keys (aliases resolved), values as text. */
export type PropertyMap = Record<string, string>;

/** The key whose value may be written alone: `file` in `scsi0: store:disk,size=1G`. */
export function defaultKeyOf(format: PropertyFormat): string | undefined {
  return Object.keys(format).find((key) => format[key]?.default_key);
}

/** Errors by parameter name, with the texts of PVE::JSONSchema. */
export type SchemaErrors = Record<string, string>;

/** Adds a text; several for one parameter are joined the way Perl's single-quoted '\n' joins them. */
export function addError(errors: SchemaErrors, path: string, text: string): void {
  const key = path === "" ? "_root" : path;
  const earlier = errors[key];
  errors[key] = earlier === undefined ? text : `${earlier}\\n${text}`;
}

/** A value that a named format refuses. The message ends in a line feed, as in the original texts. */
export class FormatError extends Error {
  readonly errors: SchemaErrors | undefined;
  constructor(message: string, errors?: SchemaErrors) {
    super(message);
    this.errors = errors;
  }
}

/** Splits as PVE::Tools::split_list does: commas, semicolons, NUL and white space. */
export function splitList(text: string): string[] {
  const separator = /[\0,;\s]+/;
  return text.split(separator).filter((part) => part !== "");
}
