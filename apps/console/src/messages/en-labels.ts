/** English texts of labels: the editor of each resource, the filter of each list, the field of each create form. */
export const labelsEn = {
  labels: {
    empty: "No labels yet. They group servers: role=web, env=prod. Lists and usage can be narrowed by them.",
    edit: "Change labels",
    editOf: (name: string) => `Change labels of ${name}`,
    key: "Label",
    value: "Value",
    hint: "Letters, digits, dots, hyphens and underscores, 63 at most. A label that is there already gets the new value.",
    title: "Labels",
    filterHint: "Terms with commas between them: role=web, env!=test, env in (prod,stage), role, !role.",
    add: "Add",
    save: "Save",
    remove: "Remove",
    wrongKey:
      "Begins and ends with a letter or digit; between them also dots, hyphens and underscores. 63 at most.",
    wrongValue: "The same letters as a label, or nothing. 63 at most.",
    removeNamed: (key: string) => `Remove the label ${key}`,
    typedHint: "Such as env=prod, role=web. Lists can be narrowed by them.",
    wrongTyped: {
      key: (term: string) =>
        `“${term}” is no label: it begins and ends with a letter or digit, and has letters, digits, dots, hyphens and underscores.`,
      value: (term: string) =>
        `The value in “${term}” may have letters, digits, dots, hyphens and underscores.`,
      twice: (term: string) => `“${term}” names a label that has another value here.`,
    },
    notices: {
      labelled: "The label is set.",
      unlabelled: "The label is removed.",
    } as Readonly<Record<string, string>>,
  },
};
