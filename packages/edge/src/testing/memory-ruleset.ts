import type { NftObject } from "../render-ruleset.ts";

type Named = {
  readonly family?: string;
  readonly table?: string;
  readonly chain?: string;
  readonly name?: string;
};
type Change = Readonly<Record<string, NftObject>>;

/**
 * A namespace's nftables, as far as the edge uses them: a file of changes applies as a whole or not at all.
 */
export class MemoryRuleset {
  #objects: readonly NftObject[] = [];

  /** @returns nft's error; null when all of it is valid */
  apply(input: string): string | null {
    const { nftables } = JSON.parse(input) as { nftables: readonly Change[] };
    let objects = [...this.#objects];
    for (const change of nftables) {
      const [[verb, object] = ["", {}]] = Object.entries(change);
      const [[kind, about] = ["", {}]] = Object.entries(object) as [string, Named][];
      if (verb === "flush" && kind === "ruleset") {
        objects = [];
        continue;
      }
      const isThere = objects.some((each) => isSameNamed(each, kind, about));
      if (verb === "delete") {
        if (!isThere) return "Error: Could not process rule: No such file or directory";
        objects = objects.filter((each) => !isSameNamed(each, kind, about));
        continue;
      }
      if (verb === "create" && isThere) return "Error: Could not process rule: File exists";
      if (verb !== "add" && verb !== "create") return `Error: Invalid command ${verb}`;
      const home = kind === "table" || objects.some((each) => isHome(each, kind, about));
      if (!home) return "Error: Could not process rule: No such file or directory";
      if (kind === "rule" || !isThere) objects.push(object);
    }
    this.#objects = objects;
    return null;
  }

  /** Chains before rules, each with a handle, as nft lists them. */
  list(): string {
    const of = (kind: string) => this.#objects.filter((object) => kind in object);
    const listed = [...of("table"), ...of("chain"), ...of("rule")].map((object, index) => {
      const [[kind, about] = ["", {}]] = Object.entries(object);
      return { [kind]: { ...(about as object), handle: index + 1 } };
    });
    return JSON.stringify({ nftables: [{ metainfo: { json_schema_version: 1 } }, ...listed] });
  }
}

function isSameNamed(object: NftObject, kind: string, { name, table }: Named): boolean {
  const there = object[kind] as Named | undefined;
  return kind !== "rule" && there !== undefined && there.name === name && there.table === table;
}

function isHome(object: NftObject, kind: string, { table, chain }: Named): boolean {
  if (kind === "chain") return (object.table as Named | undefined)?.name === table;
  const there = object.chain as Named | undefined;
  return kind === "rule" && there?.table === table && there?.name === chain;
}
