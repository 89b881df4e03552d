import type { EdgeNetwork } from "@kule/edge/edge-network";
import type { JobScene, Subject } from "../job-kinds/scene.ts";
import { alike } from "../job-kinds/world-state.ts";
import type { EdgeTestbed } from "./edge-testbed.ts";

const nothing = (networkId: string): EdgeNetwork => ({
  networkId,
  generation: 1,
  subnets: [],
  gateway: null,
});

const TABLES = ["network", "subnet", "gateway", "gateway_subnet", "public_ip", "job"];
/** What always differs between two runs: the number of attempts and reports, and claims. */
const LEFT_OUT = new Set([
  ...["version", "epoch", "attempt", "last_seq", "step_count", "claim_id", "phase", "progress"],
]);

/**
 * The rows and the edge's state of a subject, so that two subjects with the same course have the same text.
 * Rows of one transaction have the same age, so they are in the order of their texts.
 */
export async function networkStateOf(
  scene: JobScene,
  testbed: EdgeTestbed,
  subject: Subject,
): Promise<string> {
  const tables = [];
  for (const table of TABLES) {
    const { rows } = await scene.owner.query<{ row: object }>(
      `select to_jsonb(t) as row from ${table} t where organisation_id = $1 order by created_at`,
      [subject.organisation],
    );
    tables.push([table, rows.map(({ row }) => row)]);
  }
  const { rows: vlans } = await scene.owner.query<{ vlan: number }>(
    `select v.vlan from region_vlan v join subnet s on s.id = v.subnet_id where s.organisation_id = $1
      order by s.created_at`,
    [subject.organisation],
  );
  const { seen } = await testbed.edge.observe(nothing(subject.network));
  const text = JSON.stringify({ tables, seen }, (key, value) => (LEFT_OUT.has(key) ? undefined : value), 1);
  const numbered = vlans.reduce(
    (said, { vlan }, index) =>
      said.replaceAll(new RegExp(`\\b(s|vmbr1v|vmbr1p)${vlan}\\b`, "g"), `$1#${index}`),
    text,
  );
  return alike(numbered, subject, -1, -1);
}
