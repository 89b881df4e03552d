import { type Answer, ApiCaller } from "@kule/api/testing/api-caller";
import { ServerWorld } from "@kule/api/testing/server-world";
import { sweepRemovalBuffers } from "@kule/api/worker/expire-removal-buffer";
import { answerText, tally } from "../races/answer-text.ts";
import { worldViolations } from "../races/world-violations.ts";
import type { Row, RowRun } from "../row.ts";

const atOnce = 50;
const sizes = ["vcpu", "memory_mb", "disk_gb"] as const;
type Quota = "servers" | (typeof sizes)[number];
/** What one server of the package `m` uses. */
const perServer: { readonly [quota in Quota]: number } = {
  servers: 1,
  vcpu: 2,
  memory_mb: 4096,
  disk_gb: 80,
};

export const row: Row = {
  id: "B11",
  title: "Of fifty concurrent creates at one below an organisation's limit, of any kind, one is accepted",
  minutes: 0.4,
  mutants: [
    {
      name: "quota-without-lock",
      removes: "the lock on the organisation's row while its servers are counted",
      patches: [
        {
          file: "apps/api/src/products/quotas/limits.ts",
          find: `
    .forNoKeyUpdate()`,
          replace: "",
        },
      ],
      expects: /\d+ were accepted and not/,
    },
    {
      name: "quota-without-removal-buffer",
      removes: "the servers in the removal buffer from those that count",
      patches: [
        {
          file: "apps/api/src/products/quotas/used.ts",
          find: "group.is_leaving ? heldInRemoval(one) : one;",
          replace: "group.is_leaving ? {} : one;",
        },
      ],
      expects: /in the removal buffer/,
    },
    {
      name: "creates-not-counted",
      removes: "new servers from the counts that the database keeps",
      patches: [
        {
          file: "packages/database/src/migrations/0001-baseline/quota-counts.ts",
          find: "from changed where deleted_at is null",
          replace: "from changed where false",
        },
      ],
      expects: /\d+ were accepted and not/,
    },
    {
      name: "quota-of-vcpus-not-counted",
      removes: "a server's vCPUs from what is counted",
      patches: [
        {
          file: "packages/rules/src/quotas/quotas.ts",
          find: "vcpu: size.vcpu, memory_mb",
          replace: "memory_mb",
        },
      ],
      expects: /of \d+ vcpu: \d+ were accepted and not/,
    },
    {
      name: "invited-have-no-place",
      removes: "open invitations from what counts as members",
      patches: [
        {
          file: "apps/api/src/products/quotas/used.ts",
          find: "used: { members: invitations }",
          replace: "used: { members: 0 * invitations }",
        },
      ],
      expects: /places of \d+: \d+ were accepted and not 1/,
    },
    {
      name: "cancel-without-quota",
      removes: "the second check of the quotas when a deletion is cancelled",
      patches: [
        {
          file: "apps/api/src/products/servers/cancel-server-deletion.ts",
          find: "wrongState.length > 0",
          replace: "wrongState.length >= 0",
        },
      ],
      expects: /were given back to servers taken out of the removal buffer/,
    },
  ],

  async run(run: RowRun) {
    const world = await ServerWorld.open({ poolSize: 25 });
    try {
      const second = (await world.world.addReplica({ poolSize: 25 })).app;
      await world.world.addRegion("wide", {
        vmid_range: { first: 1_000, last: 9_999 },
        vlan_range: { first: 2, last: 4_000 },
      });
      const violations: string[] = [];
      const rounds = run.scale === "full" ? 12 : 2;
      let requests = 0;
      for (let round = 1; round <= rounds; round += 1) {
        // How many there are already, and how many more there is room for: one, and in some rounds a few.
        const there = Math.floor(run.random() * 4);
        const room = round % 3 === 0 ? 1 + Math.floor(run.random() * 5) : 1;
        // Every second round is about servers; the others alternate.
        const quota = round % 2 === 1 ? "servers" : sizes[(round / 2 - 1) % sizes.length];
        violations.push(
          ...(await raceForQuota(world, second, `round-${round}`, there, room, quota ?? "servers")),
        );
        requests += atOnce;
        run.progress(`round ${round} of ${rounds}`);
      }
      violations.push(...(await placesRace(world, second, run.scale === "full" ? 4 : 1)));
      violations.push(...(await bufferCounts(world)));
      violations.push(...(await cancelsRace(world)));
      violations.push(...(await worldViolations(world.world.database.ownerUrl, "at the end")));
      return { cases: rounds + 5, violations, figures: { "creates at once": atOnce, requests } };
    } finally {
      await world.close();
    }
  },
};

/**
 * A new organisation with some servers and quota for some more; another one without a limit creates at the
 * same time.
 */
async function raceForQuota(
  world: ServerWorld,
  second: ServerWorld["world"]["app"],
  slug: string,
  there: number,
  room: number,
  quota: Quota,
): Promise<string[]> {
  const { id, owner } = await world.world.addOrganisation(slug);
  const body = () => world.body({ region: "wide", package: "m" });
  for (let made = 0; made < there; made += 1) await world.create({ region: "wide", package: "m" }, owner);
  await limit(world, id, quota, (there + room) * perServer[quota]);
  const [answers, neighbour] = await Promise.all([
    Promise.all(
      Array.from({ length: atOnce }, (_, index) =>
        untilNotBusy(() => (index % 2 === 0 ? owner : owner.at(second)).post("/servers", body())),
      ),
    ),
    untilNotBusy(() => world.owned.post("/servers", body())),
  ]);
  const what = `${slug}, ${there} of ${there + room} ${quota}`;
  const violations: string[] = [];
  const odd = answers.filter((answer) => !/^(202|409 quota_exceeded)$/.test(answerText(answer)));
  if (odd.length > 0) violations.push(`${what}: answers that nothing explains: ${tally(odd)}`);
  const accepted = answers.filter(({ status }) => status === 202).length;
  if (accepted !== room) violations.push(`${what}: ${accepted} were accepted and not ${room}`);
  for (const { status, body: refused } of answers)
    if (status === 409 && refused.precondition?.name !== `quota_${quota}`)
      violations.push(`${what}: a refusal names ${refused.precondition?.name}`);
  if (neighbour.status !== 202)
    violations.push(`${what}: the neighbour without a limit got ${answerText(neighbour)}`);
  const { items } = (await owner.get("/servers?limit=200")).body;
  if (items.length !== there + accepted)
    violations.push(`${what}: ${items.length} servers are there after ${there + accepted} accepted creates`);
  const tried = (await owner.post("/servers?dry_run=true", body())).body;
  if (tried.blockers?.[0]?.code !== "quota_exceeded")
    violations.push(`${what}: a dry run does not name the full quota`);
  return violations;
}

/**
 * Of fifty who are added or invited at one below the limit of members one is; those who accept existing
 * invitations need no place, so that the limit is never exceeded.
 */
async function placesRace(
  world: ServerWorld,
  second: ServerWorld["world"]["app"],
  rounds: number,
): Promise<string[]> {
  const violations: string[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    const { id, owner } = await world.world.addOrganisation(`places-${round}`);
    const email = (who: string) => `${who}-${round}@places.example`;
    const invite = (who: string, by = owner) =>
      by.post("/invitations", { email: email(who), role: "viewer" });
    const invited = (await invite("early")).body;
    await limit(world, id, "members", 2);
    const [answers, joined] = await Promise.all([
      Promise.all(
        Array.from({ length: atOnce }, (_, index) =>
          untilNotBusy(() => {
            const by = index % 2 === 0 ? owner : owner.at(second);
            return invite(`late-${index}`, by);
          }),
        ),
      ),
      untilNotBusy(() =>
        new ApiCaller(world.world.app, null).post("/auth/invitation/accept", {
          secret: invited.secret,
          name: "Early",
          password: "a long password of the battery",
        }),
      ),
    ]);
    const what = `places of ${round}`;
    const odd = answers.filter((answer) => !/^(201|409 quota_exceeded)$/.test(answerText(answer)));
    if (odd.length > 0) violations.push(`${what}: answers that nothing explains: ${tally(odd)}`);
    const accepted = answers.filter(({ status }) => status === 201).length;
    if (accepted !== 1) violations.push(`${what}: ${accepted} were accepted and not 1`);
    if (joined.status !== 200) violations.push(`${what}: who was invited before got ${answerText(joined)}`);
    const { items } = (await owner.get("/quotas")).body;
    const { used } = items.find(({ name }: { name: string }) => name === "members");
    if (used !== 2) violations.push(`${what}: ${used} of 2 places are taken`);
  }
  return violations;
}

/**
 * A server in the removal buffer keeps its quota, and restoring it needs none; a destroyed one releases it.
 */
async function bufferCounts(world: ServerWorld): Promise<string[]> {
  const { id, owner } = await world.world.addOrganisation("buffer");
  const { agent } = world;
  const violations: string[] = [];
  const { server } = await world.create({}, owner);
  await agent.work();
  await limit(world, id, "servers", 1);
  await owner.delete(`/servers/${server.id}`);
  const beside = await owner.post("/servers", world.body());
  if (answerText(beside) !== "409 quota_exceeded")
    violations.push(`a create beside a server in the removal buffer: ${answerText(beside)}`);
  const restored = await owner.post(`/servers/${server.id}/cancel-deletion`);
  if (restored.status !== 202)
    violations.push(`taking a server out of the removal buffer: ${answerText(restored)}`);
  await agent.work();
  await owner.delete(`/servers/${server.id}`);
  await agent.work();
  await world.passBuffer(server.id);
  await sweepRemovalBuffers(world.world.replica.deps);
  await agent.work();
  const after = await owner.post("/servers", world.body());
  if (after.status !== 202) violations.push(`a create after the destroy: ${answerText(after)}`);
  return violations;
}

/**
 * Servers in the removal buffer released their vCPUs, and others use them; of concurrent cancels and creates
 * only as many are accepted as the quota allows, and the rest get a fix.
 */
async function cancelsRace(world: ServerWorld): Promise<string[]> {
  const { id, owner } = await world.world.addOrganisation("cancels");
  const violations: string[] = [];
  const leaving: string[] = [];
  for (let made = 0; made < 8; made += 1) {
    const { server } = await world.create({ region: "wide", package: "m" }, owner);
    leaving.push(server.id);
  }
  for (const server of leaving) await owner.delete(`/servers/${server}`);
  const room = 3;
  await limit(world, id, "vcpu", room * perServer.vcpu);
  const answers = await Promise.all(
    leaving.flatMap((server) => [
      untilNotBusy(() => owner.post(`/servers/${server}/cancel-deletion`)),
      untilNotBusy(() => owner.post("/servers", world.body({ region: "wide", package: "m" }))),
    ]),
  );
  const odd = answers.filter((answer) => !/^(202|409 quota_exceeded)$/.test(answerText(answer)));
  if (odd.length > 0) violations.push(`cancels and creates: answers that nothing explains: ${tally(odd)}`);
  const { items } = (await owner.get("/quotas")).body;
  const { used } = items.find(({ name }: { name: string }) => name === "vcpu");
  if (used !== room * perServer.vcpu)
    violations.push(
      `${used} of ${room * perServer.vcpu} vCPUs were given back to servers taken out of the removal buffer, or to new ones`,
    );
  for (const { status, body } of answers)
    if (status === 409 && !body.precondition?.fix?.includes("delete another server"))
      violations.push(`a refused cancel or create names no way out: ${body.precondition?.fix}`);
  return violations;
}

async function limit(
  world: ServerWorld,
  organisationId: string,
  quota: Quota | "members",
  most: number,
): Promise<void> {
  const answer = await world.world.operator.put(`/organisations/${organisationId}/quotas`, {
    limits: { [quota]: most },
  });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
}

/** On a slow machine, fifty requests that wait for one lock may be told to retry. */
async function untilNotBusy(ask: () => Promise<Answer>): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    const answer = await ask();
    if (answer.status !== 503 || tries === 5) return answer;
  }
}
