import type { Lost } from "./lost-operations.ts";
import { type Caller, type Json, type RestoredWorld, until } from "./restored-world.ts";

/** Works through what differs, as the runbook says, until nothing does. @returns what did not go as it says */
export async function adoptLost(world: RestoredWorld, lost: Lost): Promise<string[]> {
  const acme = world.of("acme");
  const idOf = (name: string) => lost.servers.get(name)?.id ?? "";
  const wrong: string[] = [];
  const { items } = await world.operator.must("GET", "/operator/held-vms?limit=200");
  for (const vm of items.filter(({ is_known }: Json) => !is_known)) {
    const customer = [...world.customers.values()].find(({ id }) => id === vm.organisation_id);
    if (customer === undefined) {
      wrong.push(`VM ${vm.vmid} is listed for ${vm.organisation_id}, which it is not`);
      continue;
    }
    const address = vm.held.find(({ kind }: Json) => kind === "address");
    const { server } = await customer.operator.done("POST", "/servers/import", {
      name: vm.name,
      region: "lab1",
      vmid: vm.vmid,
      image: "ubuntu-24.04",
      package: "s",
      subnet_id: address?.subnet_id ?? (await networkAgain(customer.api, lost)),
      private_ip: address?.value ?? (await configuredAddress(world, vm.vmid)),
    });
    if (server.id !== vm.server_id) wrong.push(`VM ${vm.vmid} of ${vm.server_id} became ${server.id}`);
    const seen = await customer.api.must("GET", `/servers/${server.id}`);
    if (address !== undefined && seen.interfaces[0].private_ip !== address.value)
      wrong.push(`VM ${vm.vmid} has ${address.value} and is recorded with ${seen.interfaces[0].private_ip}`);
  }
  await acme.done("DELETE", `/servers/${idOf("gone")}?purge=true`);
  await acme.done("POST", `/servers/${idOf("buffered")}/cancel-deletion`);
  await acme.done("POST", `/servers/${idOf("bigger")}/resize`, { package: "m", allow_restart: true });
  const elsewhere = lost.servers.get("lost-elsewhere")?.id ?? "";
  for (const id of [idOf("renamed"), idOf("attached"), elsewhere])
    await until(`${id} to be told as different`, async () => {
      const answer = await acme.ask("POST", `/servers/${id}/reconcile`);
      if (answer.status !== 202) return null;
      await acme.untilDone(answer.body.job.id);
      return true;
    });
  const ended = await world.operator.ask("PATCH", "/regions/lab1/restore", { ended: true });
  if (ended.status !== 200) wrong.push(`the restore cannot be ended: ${JSON.stringify(ended.body)}`);
  await until("the region to be as the records say", async () => {
    const drift = await world.operator.must("GET", "/operator/drift?limit=200");
    const held = await world.operator.must("GET", "/operator/held-vms?limit=200");
    return drift.items.length + held.items.length === 0 ? true : null;
  }).catch(async (error: Error) => {
    const drift = await world.operator.must("GET", "/operator/drift?limit=200");
    const held = await world.operator.must("GET", "/operator/held-vms?limit=200");
    wrong.push(`${error.message}: ${JSON.stringify([drift.items, held.items]).slice(0, 2_000)}`);
  });
  return wrong;
}

/** The lost network, made again with its ranges. */
async function networkAgain(api: Caller, { ranges }: Lost): Promise<string> {
  const { network } = await api.must("POST", "/networks", {
    name: "lost",
    region: "lab1",
    cidr: ranges.network,
  });
  const body = { name: "app", tier: "app", cidr: ranges.subnet };
  const { subnet } = await api.must("POST", `/networks/${network.id}/subnets`, body);
  return subnet.id;
}

/** As the region shows it in the VM's cloud-init settings. */
async function configuredAddress(world: RestoredWorld, vmid: number): Promise<string> {
  const vm = (await world.vms()).find((each) => each.vmid === vmid);
  return /(?:^|,)ip=([^/,]+)/.exec(vm?.config?.ipconfig0 ?? "")?.[1] ?? "";
}
