import type { JournalEntry } from "@kule/lab/journal";
import type { JobScene, Subject } from "./scene.ts";

/**
 * What is wrong with the rules of a server that was created with a firewall: whether they were written, and
 * when.
 */
export async function filteredStartViolations(scene: JobScene, { server }: Subject): Promise<string[]> {
  const { rows } = await scene.owner.query<{ vmid: number; has: boolean; rules: number }>(
    `select v.vmid, s.filter_wanted <> '' and s.filter_wanted = s.filter_applied as has,
            coalesce(split_part(s.filter_digest, ' ', 1), '0')::integer as rules
       from server s join region_vmid v on v.server_id = s.id and v.region = s.region and v.state = 'used'
      where s.id = $1`,
    [server],
  );
  const [row] = rows;
  if (row === undefined) return [`${server} has no VM number`];
  if (!row.has) return [`${server} was made with a firewall, and nobody says that it has its rules`];
  const { journal } = await scene.view();
  return startedOpen(journal, row.vmid, row.rules).map((text) => `${server} ${text}`);
}

/** Whether the newest VM of the number was ever started, by a job, before so many rules were written for it. */
export function startedOpen(
  journal: readonly Pick<JournalEntry, "op" | "vmid">[],
  vmid: number,
  rules: number,
): string[] {
  const its = journal.filter((entry) => entry.vmid === vmid).map(({ op }) => op);
  const since = its.slice(its.lastIndexOf("clone-finished") + 1);
  // The test itself has changed the VM.
  if (since.some((op) => op.startsWith("world-"))) return [];
  const start = since.indexOf("vm-started");
  const written = (ops: readonly string[]) => ops.filter((op) => op === "firewall-rule-created").length;
  const before = written(start === -1 ? since : since.slice(0, start));
  const found: string[] = [];
  if (before < rules) found.push(`was started with ${before} of its ${rules} rules`);
  if (start !== -1 && written(since.slice(start)) > 0) found.push("got rules after its first start");
  return found;
}
