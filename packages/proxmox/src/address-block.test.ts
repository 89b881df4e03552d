import { expect, it } from "vitest";
import { canonicalBlock } from "./address-block.ts";

it.each([
  ["10.0.0.1/32", "10.0.0.1"],
  ["10.0.0.0/8", "10.0.0.0/8"],
  ["2001:DB8:0::/32", "2001:db8::/32"],
  ["2001:db8::/128", "2001:db8::"],
  ["2001:db8::", "2001:db8::"],
  ["0.0.0.0/0", "0.0.0.0/0"],
  ["!10.0.0.1", "!10.0.0.1"],
  ["dc/alias", "dc/alias"],
  ["10.0.0.1/x", "10.0.0.1/x"],
])("The block %s is written %s", (text, canonical) => expect(canonicalBlock(text)).toBe(canonical));
