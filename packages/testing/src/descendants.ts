import { readdirSync, readFileSync } from "node:fs";
import { identifyProcess, type ProcessIdentity } from "@kule/postgres/process-identity";

/** Every process below this one that runs now, whatever its process group, and the process itself. */
export function withDescendants(pid: number): ProcessIdentity[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync("/proc").filter((each) => /^\d+$/.test(each))) {
    const parent = parentOf(name);
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const found: ProcessIdentity[] = [];
  for (const next = [pid]; next.length > 0; ) {
    const one = next.pop() ?? 0;
    const identity = identifyProcess(one);
    if (identity !== undefined) found.push(identity);
    next.push(...(children.get(one) ?? []));
  }
  return found;
}

/** The command name is in parentheses and may contain spaces. */
function parentOf(pid: string): number | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return undefined;
  }
}
