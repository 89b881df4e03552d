import type { ServerWorld } from "@kule/api/testing/server-world";
import { seenAs, TestScanner } from "@kule/api/testing/test-scanner";

const gib = 2 ** 30;

/**
 * A region that reports disks larger than they are: what was not ordered is not counted, and what was counted
 * is corrected by an operator.
 *
 * @returns what went wrong
 */
export async function falseReports(world: ServerWorld): Promise<string[]> {
  const { server } = await world.create();
  const job = await world.agent.take("ServerCreate");
  await world.agent.succeed(job, "on");
  const vm = seenAs(job);
  const testScanner = new TestScanner(world.agent.api);
  const show = async (disk_bytes: number) => {
    const { pass } = await testScanner.begin();
    if (pass === null) throw new Error("another agent looks");
    await testScanner.batch(pass, 0, { vms: [{ ...vm, disk_bytes }], end: { complete: false } });
  };
  const disks = async (): Promise<{ id: string; quantity: { disk_gb: number } }[]> =>
    (await world.owned.get(`/usage/segments?resource=${server.id}&kind=disk`)).body.items;

  const ordered = (await disks())[0]?.quantity.disk_gb;
  if (ordered === undefined) throw new Error("a server was made, and no disk of it is counted");
  const violations: string[] = [];
  // Some package has a disk of 640 GB, and this server was never to have it.
  for (const bytes of [9_007_199_254_740_991, 640 * gib, (ordered + 1) * gib]) {
    await show(bytes);
    for (const { quantity } of await disks())
      if (quantity.disk_gb !== ordered)
        violations.push(`a disk of ${quantity.disk_gb} GB is counted that nobody ordered`);
  }
  if (violations.length > 0) return violations;

  // A size that was requested once is accepted, however the resize ended; the region reports it wrongly.
  await world.owned.post(`/servers/${server.id}/resize`, { package: "xxl", allow_restart: true });
  await world.agent.fail(await world.agent.take("ServerResize"));
  await show(400 * gib);
  for (const { id } of (await disks()).filter(({ quantity }) => quantity.disk_gb !== ordered)) {
    const correction = { segment: id, quantity: { disk_gb: ordered }, reason: "never ordered" };
    const path = `/organisations/${world.organisation.id}/usage-corrections`;
    const { status } = await world.world.operator.post(path, correction);
    if (status !== 201) violations.push(`a correction is answered ${status}`);
  }
  const [sum] = (await world.owned.get(`/usage/summary?resource=${server.id}`)).body.items;
  const off = Math.abs(sum.disk_gb_seconds - sum.disk_seconds * ordered);
  if (off > 0.01) violations.push(`the disk of ${server.id} is ${off} GB seconds off after its correction`);
  return violations;
}
