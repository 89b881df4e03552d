/** The blocks of commands below a heading of a page, up to the next heading of its level or of a higher one. */
export function blocksOf(page: string, heading: string): string[] {
  const found = new RegExp(`^(##+) ${heading}\\n`, "m").exec(page);
  if (found === null) throw new Error(`the page has no heading ${heading}`);
  const after = page.slice(found.index + found[0].length);
  const end = after.search(new RegExp(`^#{2,${found[1]?.length ?? 2}} `, "m"));
  const section = end === -1 ? after : after.slice(0, end);
  return [...section.matchAll(/^( *)```\n([\s\S]*?)^ *```/gm)].map(([, indent = "", block = ""]) =>
    block
      .split("\n")
      .map((line) => (line.startsWith(indent) ? line.slice(indent.length) : line))
      .join("\n"),
  );
}
