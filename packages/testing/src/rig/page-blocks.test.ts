import { expect, test } from "vitest";
import { blocksOf } from "./page-blocks.ts";

const page = `# A page
## Install
1. First:
   \`\`\`
   one
     two
   \`\`\`
### With an authority
\`\`\`
three
\`\`\`
### Without
## Check
\`\`\`
four
\`\`\`
`;

test("a section has the blocks of its subsections, without their indentation", () => {
  expect(blocksOf(page, "Install")).toEqual(["one\n  two\n", "three\n"]);
});

test("a subsection ends at the next one, and the last section with the page", () => {
  expect(blocksOf(page, "With an authority")).toEqual(["three\n"]);
  expect(blocksOf(page, "Without")).toEqual([]);
  expect(blocksOf(page, "Check")).toEqual(["four\n"]);
});

test("a heading that the page does not have is an error", () => {
  expect(() => blocksOf(page, "Remove")).toThrow("no heading Remove");
});
