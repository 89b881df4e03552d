/** A word in lower case (or as quoted), an operator, a parameter, a literal; or what is between two parentheses. */
export type SqlNode =
  | { readonly kind: "word" | "name" | "operator" | "value"; readonly text: string }
  | { readonly kind: "group"; readonly nodes: readonly SqlNode[] };

const token =
  /\s+|--[^\n]*|\/\*[\s\S]*?\*\/|"((?:[^"]|"")*)"|[eE]?'(?:[^'\\]|''|\\.)*'|\$\d+|\$(\w*)\$[\s\S]*?\$\2\$|[a-zA-Z_][\w$]*|\d[\d.eE]*|::|[<>=!~@#%^&|*/+-]+|[(),.;:[\]?]/gy;

/**
 * Splits a statement into nested nodes. Only as much of SQL as is needed to see which tables a query reads under which
 * conditions.
 *
 * @throws Error at what it cannot read, so that no statement passes unread
 */
export function sqlNodes(statement: string): SqlNode[] {
  // The way Postgres writes the comparisons of foreign keys.
  const text = statement.replaceAll(/operator\s*\(\s*pg_catalog\s*\.\s*(\S+?)\s*\)/gi, " $1 ");
  const open: SqlNode[][] = [[]];
  token.lastIndex = 0;
  while (token.lastIndex < text.length) {
    const at = token.lastIndex;
    const match = token.exec(text);
    if (match === null) throw new Error(`cannot read SQL at ${JSON.stringify(text.slice(at, at + 40))}`);
    const [found, quoted] = match;
    const level = open.at(-1);
    if (level === undefined) throw new Error(`one parenthesis too many: ${text.slice(0, 200)}`);
    if (/^(\s|--|\/\*)/.test(found)) continue;
    if (found === "(") open.push([]);
    else if (found === ")") {
      open.pop();
      const outer = open.at(-1);
      if (outer === undefined) throw new Error(`one parenthesis too many: ${text.slice(0, 200)}`);
      outer.push({ kind: "group", nodes: level });
    } else if (quoted !== undefined) level.push({ kind: "name", text: quoted.replaceAll('""', '"') });
    else if (/^[a-zA-Z_](?!')/.test(found) && !/^[eE]'/.test(found))
      level.push({ kind: "word", text: found.toLowerCase() });
    else if (/^['$\deE]/.test(found)) level.push({ kind: "value", text: found });
    else level.push({ kind: "operator", text: found });
  }
  const [whole, ...unclosed] = open;
  if (whole === undefined || unclosed.length > 0)
    throw new Error(`a parenthesis is not closed: ${text.slice(0, 200)}`);
  return whole;
}

export function isWord(node: SqlNode | undefined, ...words: readonly string[]): boolean {
  return node?.kind === "word" && words.includes(node.text);
}

export function isOperator(node: SqlNode | undefined, text: string): boolean {
  return node?.kind === "operator" && node.text === text;
}
