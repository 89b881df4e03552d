import { probeWires } from "@kule/lab/wires/wires";
import { guestTexts } from "../guest-input/hostile-corpus.ts";
import { PacketScene } from "../reachability/packet-scene.ts";
import type { RowResult, RowRun } from "../row.ts";
import { edgeViolations, vmViolations } from "./rule-checks.ts";
import { packetViolations } from "./rule-packets.ts";
import { makePool, makeRuleWorld, type Written, write } from "./rule-world.ts";

/** Texts that are written for one server, each as a firewall of its own: an organisation has a hundred at most. */
const together = 80;
/** Of a sample. */
const fewest = 25;
/** Texts that end a word, a line or a rule where one is parsed as text. */
const breakingOut = [
  '" ; ip saddr 0.0.0.0/0 accept comment "y',
  '"; flush ruleset; #',
  "x\nadd rule inet kule through accept",
  "} chain through { accept }",
  "$(nft flush ruleset)",
  "`nft flush ruleset`",
  "'; nft flush ruleset; '",
  "x -j ACCEPT",
  "|IN ACCEPT",
  "x\nIN ACCEPT",
  "+dc/all",
  "+guest/ipfilter-net0",
  "@others",
  "kule",
  "generation_1",
  "platform_link_addresses",
  "0.0.0.0/0",
  "::/0",
  "1-65535",
  "22,1:65535",
  "*",
];

export async function runRuleInput(run: RowRun): Promise<RowResult> {
  const missing = await probeWires();
  if (missing !== undefined) throw new Error(`the rules need a network of their own: ${missing}`);
  const all = [...new Set([...breakingOut, ...guestTexts])];
  const step = Math.ceil(all.length / fewest);
  const offset = Math.floor(run.random() * step);
  const texts =
    run.scale === "full"
      ? all
      : all.filter((text, index) => breakingOut.includes(text) || index % step === offset);
  return PacketScene.use(async (scene) => {
    const tally = { uses: 0, accepted: 0, packets: 0, violations: [] as string[] };
    const pool = await makePool(scene);
    await scene.station.attend([{ name: "internet", namespace: "internet" }], []);
    for (let first = 0; first < texts.length; first += together)
      await tryTogether(scene, pool, texts.slice(first, first + together), first, tally, run);
    if (tally.accepted === 0) tally.violations.push("no text was accepted anywhere: nothing was tried");
    return {
      cases: tally.uses + tally.packets,
      violations: tally.violations,
      figures: {
        texts: texts.length,
        "uses of a text": tally.uses,
        "of them accepted": tally.accepted,
        packets: tally.packets,
      },
    };
  });
}

type Tally = { uses: number; accepted: number; packets: number; readonly violations: string[] };

async function tryTogether(
  scene: PacketScene,
  pool: string,
  texts: readonly string[],
  first: number,
  tally: Tally,
  { progress }: RowRun,
): Promise<void> {
  const world = await makeRuleWorld(scene, pool, `org-${first}`);
  const written: Written[] = [];
  for (const [index, text] of texts.entries()) written.push(await write(world, scene, text, index));
  for (const { accepted, refused, violations } of written) {
    tally.uses += accepted.length + refused;
    tally.accepted += accepted.length;
    tally.violations.push(...violations);
  }
  try {
    await scene.work();
  } catch (error) {
    tally.violations.push(error instanceof Error ? error.message : String(error));
    return;
  }
  const found = [
    ...(await vmViolations(scene, world, written)),
    ...(await edgeViolations(scene, world, written)),
  ];
  const places = [`neighbour-${first}`, `target-${first}`] as const;
  const { packets, violations } = await packetViolations(scene, world, written, places);
  tally.packets += packets;
  tally.violations.push(...found, ...violations);
  progress(
    `${first + texts.length} texts, ${tally.accepted} uses accepted, ${found.length + violations.length} violations`,
  );
}
