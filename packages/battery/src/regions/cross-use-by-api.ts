import type { Answer } from "@kule/api/testing/api-caller";
import { CannotOpen, openSecret } from "@kule/sealed-secret/sealed-secret";
import { answerText } from "../races/answer-text.ts";
import type { Regions, Side } from "./region-pair.ts";

export type Tried = { readonly cases: number; readonly violations: readonly string[] };

/** Resources of one region, used in another one, in every way that a request can name them. */
export async function crossUseByApi(regions: Regions, here: Side, there: Side): Promise<Tried> {
  const { owner: acme } = regions.organisation;
  const operator = regions.api.operator;
  const way = `${here.region} for ${there.region}`;
  const server = { name: "cross", region: there.region, image: "debian-13", package: "s" };
  const firstPlace = here.cidr.replace(/\.0\/\d+$/, ".99");
  const tries: readonly (readonly [what: string, answer: Promise<Answer>, expected: RegExp])[] = [
    [
      "a subnet, for a server",
      acme.post("/servers", { ...server, subnet_id: here.subnet }),
      /^422 \/subnet_id conflicts_with$/,
    ],
    [
      "a subnet with one of its addresses, for a server",
      acme.post("/servers", { ...server, subnet_id: here.subnet, private_ip: firstPlace }),
      /^422 \/subnet_id conflicts_with$/,
    ],
    [
      "a subnet, for a server that is only tried",
      acme.post("/servers?dry_run=true", { ...server, subnet_id: here.subnet }),
      /^422 \/subnet_id conflicts_with$/,
    ],
    [
      "an address, for a server in a subnet there",
      acme.post("/servers", { ...server, subnet_id: there.subnet, private_ip: firstPlace }),
      /^422 \/private_ip out_of_range$/,
    ],
    [
      "a network, as a subnet's",
      acme.post("/servers", { ...server, subnet_id: here.network }),
      /^422 \/subnet_id /,
    ],
    [
      "a subnet, under a network there",
      acme.get(`/networks/${there.network}/subnets/${here.subnet}`),
      /^404 not_found$/,
    ],
    [
      "a subnet, changed under a network there",
      acme.patch(`/networks/${there.network}/subnets/${here.subnet}`, { name: "moved" }),
      /^404 not_found$/,
    ],
    [
      "a subnet, deleted under a network there",
      acme.delete(`/networks/${there.network}/subnets/${here.subnet}`),
      /^404 not_found$/,
    ],
    [
      "a server, moved",
      acme.patch(`/servers/${here.server}`, { region: there.region }),
      /^422 \/region unknown_field$/,
    ],
    [
      "a network, moved",
      acme.patch(`/networks/${here.network}`, { region: there.region }),
      /^422 \/region unknown_field$/,
    ],
    [
      "a waiting job, reported by the agent there",
      there.agent.api.post(`/agent/jobs/${here.queuedJob}/steps`, { epoch: 0, seq: 1 }),
      /^404 not_found$/,
    ],
    [
      "a running job, reported by the agent there",
      there.agent.reportAs({ ...here.heldJob } as never, 1_000, { phase: "apply" }),
      /^404 not_found$/,
    ],
    [
      "a running job, ended by the agent there",
      there.agent.reportAs({ ...here.heldJob } as never, 1_001, { outcome: { status: "succeeded" } }),
      /^404 not_found$/,
    ],
    [
      "an agent's token, ended under the region there",
      operator.delete(`/regions/${there.region}/agent-tokens/${here.agentToken}`),
      /^404 not_found$/,
    ],
  ];
  const violations: string[] = [];
  for (const [what, asked, expected] of tries) {
    const answer = await asked;
    if (!expected.test(answerText(answer)))
      violations.push(`${way}: ${what}: ${answerText(answer)}, and not ${expected}`);
  }
  return { cases: tries.length, violations };
}

/** A region that is for others reads like one that does not exist; with several, none is taken by itself. */
export async function hiddenRegion(regions: Regions): Promise<Tried> {
  const { owner: acme } = regions.organisation;
  const server = { name: "cross", image: "debian-13", package: "s" };
  const [side] = regions.sides;
  const pairs = [
    [
      "a server",
      acme.post("/servers", { ...server, region: regions.closed }),
      acme.post("/servers", { ...server, region: "nowhere" }),
    ],
    [
      "a server in a subnet of elsewhere",
      acme.post("/servers", { ...server, region: regions.closed, subnet_id: side?.subnet }),
      acme.post("/servers", { ...server, region: "nowhere", subnet_id: side?.subnet }),
    ],
    [
      "a network",
      acme.post("/networks", { name: "x", region: regions.closed }),
      acme.post("/networks", { name: "x", region: "nowhere" }),
    ],
  ] as const;
  const violations: string[] = [];
  for (const [what, closed, absent] of pairs) {
    const [one, other] = [answerText(await closed), answerText(await absent)];
    if (!/^422 \/region (not_one_of|not_found)$/.test(one) || one !== other)
      violations.push(`${what} in a region that is for others: ${one}, and ${other} in one that is nowhere`);
  }
  const unnamed = answerText(await acme.post("/servers", server));
  if (unnamed !== "422 /region required") violations.push(`a server in no region: ${unnamed}`);
  return { cases: pairs.length + 1, violations };
}

/** Each agent gets its region's jobs, and the secrets in them open with its region's key only. */
export async function ownJobsOnly(regions: Regions): Promise<Tried> {
  const { owner: acme } = regions.organisation;
  const violations: string[] = [];
  let cases = 0;
  for (const { region, subnet } of regions.sides) {
    const windows = { name: "win-1", region, subnet_id: subnet, image: "windows-2022", package: "l" };
    const answer = await acme.post("/servers", windows);
    if (answer.status !== 202) violations.push(`a Windows server in ${region}: ${answerText(answer)}`);
  }
  for (const side of regions.sides)
    for (let job = await side.agent.claim(); job !== null; job = await side.agent.claim()) {
      cases += 1;
      const { rows } = await regions.owner.query("select region from job where id = $1", [job.id]);
      if (rows[0]?.region !== side.region)
        violations.push(`the agent of ${side.region} got ${job.id} of ${rows[0]?.region}`);
      const sealed = job.payload.kind === "ServerCreate" ? job.payload.sealed_password : null;
      if (sealed !== null) violations.push(...opensFor(regions, side, sealed, job.payload.server.id));
      if (sealed !== null) cases += regions.sides.length;
      await side.agent.succeed(job);
    }
  return { cases, violations };
}

function opensFor(regions: Regions, owner: Side, sealed: string, serverId: string): string[] {
  return regions.sides.flatMap((side) => {
    const opens = canOpen(side.key.privateKey, sealed, serverId);
    if (opens === (side === owner)) return [];
    return [
      `a password for ${owner.region} ${opens ? "opens" : "does not open"} with the key of ${side.region}`,
    ];
  });
}

function canOpen(privateKey: string, sealed: string, context: string): boolean {
  try {
    return openSecret(privateKey, sealed, context) !== "";
  } catch (error) {
    if (error instanceof CannotOpen) return false;
    throw error;
  }
}
