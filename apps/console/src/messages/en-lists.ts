/** English of lists: how they are shown, and what their rows offer. */
export const listsEn = {
  listView: {
    title: "View",
    rows: "Rows on a page",
    columns: "Columns",
    apply: "Apply",
    reset: "As at first",
  },
  rowMenu: {
    title: "Acts",
    of: (name: string) => `Acts on ${name}`,
  },
};
