/** One control of a form, with the value that a browser would send for it. */
export type Control = {
  readonly kind: "kept" | "typed" | "box" | "radio" | "menu" | "button";
  readonly name: string;
  readonly values: readonly string[];
  /** The button's own action, in place of the form's. */
  readonly action?: string;
};

export type PostedForm = { readonly action: string; readonly controls: readonly Control[] };

/** The forms of a page that change something and can be sent. Disabled controls are left out, as a browser does. */
export function formsIn(html: string): PostedForm[] {
  return [...html.matchAll(/<form\s([^>]*)>([\s\S]*?)<\/form>/g)].flatMap(([, tag = "", inner = ""]) => {
    const { action, method, id } = attributesOf(tag);
    if (method !== "post" || action === undefined) return [];
    // A control may be outside of its form and name it.
    const outside = id === undefined ? [] : controlsIn(html).filter(({ form }) => form === id);
    const controls = [...controlsIn(inner).filter(({ form }) => form === undefined), ...outside];
    return controls.some(({ control }) => control.kind === "button")
      ? [{ action, controls: controls.map(({ control }) => control) }]
      : [];
  });
}

type Placed = { readonly control: Control; readonly form: string | undefined };

function controlsIn(html: string): Placed[] {
  const tags = /<(input|textarea|button)\s([^>]*)>|<select\s([^>]*)>([\s\S]*?)<\/select>/g;
  return [...html.matchAll(tags)].flatMap(([, element, tag = "", menu, options = ""]) => {
    const attributes = attributesOf(menu ?? tag);
    if (attributes.disabled !== undefined) return [];
    const control = controlOf(menu === undefined ? (element ?? "") : "select", attributes, options);
    return control === null ? [] : [{ control, form: attributes.form }];
  });
}

function controlOf(element: string, attributes: Attributes, options: string): Control | null {
  const { name = "", value = "", type = "text" } = attributes;
  if (element === "button") {
    if (type !== "submit") return null;
    const { formaction: action } = attributes;
    return { kind: "button", name, values: [value], ...(action === undefined ? {} : { action }) };
  }
  if (name === "") return null;
  if (element === "select") {
    const values = [...options.matchAll(/<option\s([^>]*)>/g)].flatMap(([, tag = ""]) => {
      const option = attributesOf(tag);
      return option.disabled === undefined ? [option.value ?? ""] : [];
    });
    return { kind: "menu", name, values };
  }
  if (element === "input" && type === "hidden") return { kind: "kept", name, values: [value] };
  if (element === "input" && type === "checkbox")
    return { kind: "box", name, values: [attributes.value ?? "on"] };
  if (element === "input" && type === "radio") return { kind: "radio", name, values: [value] };
  // The confirming name is the only input that must match a given text.
  const { "data-confirm": confirm } = attributes;
  return { kind: "typed", name, values: confirm === undefined ? [] : [confirm] };
}

type Attributes = Readonly<Record<string, string | undefined>>;

function attributesOf(tag: string): Attributes {
  return Object.fromEntries(
    [...tag.matchAll(/([a-z-]+)(?:="([^"]*)")?/g)].map(([, name = "", value = ""]) => [
      name,
      unescaped(value),
    ]),
  );
}

const unescaped = (text: string) =>
  text
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");

/**
 * The ways to fill in and send a form: each button, each option of each menu, each radio button once, with every box
 * checked and text in every field; then with the boxes unchecked, and with each field empty.
 *
 * @param typed the text of each field, one way after another
 */
export function formVariants(
  form: PostedForm,
  typed: readonly string[],
): { readonly action: string; readonly fields: Readonly<Record<string, readonly string[]>> }[] {
  const { controls } = form;
  const buttons = controls.filter(({ kind }) => kind === "button");
  const radios = Map.groupBy(
    controls.filter(({ kind }) => kind === "radio"),
    ({ name }) => name,
  );
  const choices: readonly (readonly [string, readonly string[]])[] = [
    ...controls.filter(({ kind }) => kind === "menu").map(({ name, values }) => [name, values] as const),
    ...[...radios].map(([name, each]) => [name, each.flatMap(({ values }) => values)] as const),
  ];
  const fill = (
    text: string,
    ticked: boolean,
    chosen: Readonly<Record<string, string>>,
    empty: string | null = null,
  ) => {
    const fields: Record<string, string[]> = {};
    const add = (name: string, value: string) => {
      fields[name] = [...(fields[name] ?? []), value];
    };
    for (const { kind, name, values } of controls) {
      if (kind === "kept") add(name, values[0] ?? "");
      if (kind === "typed") add(name, name === empty ? "" : (values[0] ?? text));
      if (kind === "box" && ticked) add(name, values[0] ?? "");
    }
    for (const [name, values] of choices) add(name, chosen[name] ?? values[0] ?? "");
    return fields;
  };
  const fields = [...new Set(controls.filter(({ kind }) => kind === "typed").map(({ name }) => name))];
  const ends = [...new Set([typed[0] ?? "", typed.at(-1) ?? ""])];
  const fillings = [
    ...fields.flatMap((name) => typed.slice(0, 1).map((text) => fill(text, true, {}, name))),
    ...typed.map((text) => fill(text, true, {})),
    ...typed.slice(0, 1).map((text) => fill(text, false, {})),
    ...choices.flatMap(([name, values]) =>
      values.slice(1).flatMap((value) => ends.map((text) => fill(text, true, { [name]: value }))),
    ),
  ];
  return buttons.flatMap(({ name, values, action }) =>
    fillings.map((fields) => ({
      action: action ?? form.action,
      fields: name === "" ? fields : { ...fields, [name]: [values[0] ?? ""] },
    })),
  );
}
