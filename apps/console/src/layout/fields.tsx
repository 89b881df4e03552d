import type { Child } from "hono/jsx";
import type { View } from "./view.ts";

/** The error of each field of a form, by the field's name. */
export type FieldProblems = Readonly<Record<string, readonly string[] | undefined>>;

export const noProblems: FieldProblems = {};

type TextFieldProps = {
  readonly view: View;
  /** Distinguishes several fields of the same name on a page. */
  readonly id?: string;
  readonly name: string;
  readonly label: string;
  readonly value?: string;
  readonly hint?: string;
  readonly problems: FieldProblems;
  readonly required?: boolean;
  readonly optional?: boolean;
  readonly type?: "text" | "email" | "password" | "search";
  readonly autocomplete?: string;
  readonly maxlength?: number;
  readonly rows?: number;
  readonly mono?: boolean;
  readonly autofocus?: boolean;
  /** Further attributes of the input, such as data-… */
  readonly attributes?: Readonly<Record<string, string>>;
  readonly children?: Child;
};

/** A label, an input, its hint and its error, linked for assistive technology. */
export function TextField(props: TextFieldProps) {
  const problems = props.problems[props.name];
  const id = props.id ?? `field-${props.name}`;
  // As an e-mail browsers refuse letters beyond ASCII, and send a domain of them as another one: nobody with such an address,
  // which the API takes, could be invited or sign in.
  const isEmail = props.type === "email";
  const fieldId = props.id ?? props.name;
  const described = [
    props.hint === undefined ? null : `${fieldId}-hint`,
    problems === undefined ? null : `${fieldId}-problem`,
  ].filter((id) => id !== null);
  const shared = {
    id,
    name: props.name,
    required: props.required ?? false,
    maxlength: props.maxlength,
    autocomplete: props.autocomplete ?? "off",
    autocapitalize: "none" as const,
    spellcheck: false,
    inputmode: isEmail ? ("email" as const) : undefined,
    class: props.mono ? "mono" : undefined,
    "aria-invalid": problems === undefined ? undefined : ("true" as const),
    "aria-describedby": described.length === 0 ? undefined : described.join(" "),
    ...props.attributes,
  };
  return (
    <div class="field" data-invalid={problems === undefined ? undefined : "true"}>
      <label for={id}>
        {props.label}
        {props.optional ? <span class="optional"> · {props.view.messages.common.optional}</span> : null}
      </label>
      {props.rows === undefined ? (
        <input
          {...shared}
          type={isEmail ? "text" : (props.type ?? "text")}
          value={props.value}
          autofocus={props.autofocus}
        />
      ) : (
        <textarea {...shared} rows={props.rows} autofocus={props.autofocus}>
          {props.value}
        </textarea>
      )}
      <Problem name={fieldId} problems={problems} />
      {props.hint === undefined ? null : (
        <p class="hint" id={`${fieldId}-hint`}>
          {props.hint}
        </p>
      )}
      {props.children}
    </div>
  );
}

/** A menu with one choice. */
export function SelectField(props: {
  /** Distinguishes several fields of the same name on a page. */
  readonly id?: string;
  readonly name: string;
  readonly label: string;
  readonly value: string;
  readonly options: readonly { readonly value: string; readonly label: string }[];
  readonly hint?: string;
  readonly problems: FieldProblems;
  /** The first line while nothing is chosen. */
  readonly prompt?: string;
}) {
  const { name, value, options, hint } = props;
  const problems = props.problems[name];
  const described = [
    hint === undefined ? null : `${name}-hint`,
    problems === undefined ? null : `${name}-problem`,
  ].filter((id) => id !== null);
  return (
    <div class="field" data-invalid={problems === undefined ? undefined : "true"}>
      <label for={props.id ?? `field-${name}`}>{props.label}</label>
      <select
        id={props.id ?? `field-${name}`}
        name={name}
        aria-invalid={problems === undefined ? undefined : "true"}
        aria-describedby={described.length === 0 ? undefined : described.join(" ")}
      >
        {props.prompt === undefined ? null : <option value="">{props.prompt}</option>}
        {options.map((option) => (
          <option value={option.value} selected={option.value === value}>
            {option.label}
          </option>
        ))}
      </select>
      <Problem name={name} problems={problems} />
      {hint === undefined ? null : (
        <p class="hint" id={`${name}-hint`}>
          {hint}
        </p>
      )}
    </div>
  );
}

/** The error of one field; nothing without an error. */
export function Problem(props: { readonly name: string; readonly problems: readonly string[] | undefined }) {
  if (props.problems === undefined) return null;
  return (
    <p class="problem" id={`${props.name}-problem`}>
      {props.problems.join(" ")}
    </p>
  );
}
