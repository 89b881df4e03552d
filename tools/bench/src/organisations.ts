import type { HttpClients } from "./load.ts";

export type BenchOrganisation = {
  readonly organisationId: string;
  readonly token: string;
  readonly subnetId: string;
  readonly region: string;
};

/** Registers a region with a VMID range of its own. */
export async function registerRegion(operator: HttpClients, slug: string, vmids = 5000): Promise<string> {
  await made(operator, "/regions", {
    slug,
    name: slug,
    vmid_range: { first: 20_000, last: 20_000 + vmids - 1 },
    vlan_range: { first: 100, last: 999 },
  });
  const { secret } = await made<{ secret: string }>(operator, `/regions/${slug}/agent-tokens`, {
    name: "bench",
  });
  return secret;
}

/** Registers an organisation with a token, a network and a subnet in the region. */
export async function registerOrganisation(
  operator: HttpClients,
  clientsFor: (headers: Record<string, string>) => HttpClients,
  operatorToken: string,
  slug: string,
  region: string,
): Promise<BenchOrganisation> {
  const { id } = await made<{ id: string }>(operator, "/organisations", { slug, name: slug });
  const onBehalf = clientsFor({ authorization: `Bearer ${operatorToken}`, "kule-organisation": id });
  const { secret } = await made<{ secret: string }>(onBehalf, "/tokens", {
    name: "bench",
    role: "admin",
    reason: "the bench",
  });
  const subnetId = await createSubnet(onBehalf, "bench", region);
  onBehalf.close();
  return { organisationId: id, token: secret, subnetId, region };
}

/** Creates a network with a subnet of 65,536 addresses, and returns the subnet's id. */
export async function createSubnet(
  clients: HttpClients,
  networkName: string,
  region: string,
): Promise<string> {
  const { network } = await made<{ network: { id: string } }>(clients, "/networks", {
    name: networkName,
    region,
    cidr: "10.0.0.0/8",
  });
  const { subnet } = await made<{ subnet: { id: string } }>(clients, `/networks/${network.id}/subnets`, {
    name: "app",
    tier: "app",
    cidr: "10.0.0.0/16",
  });
  return subnet.id;
}

/** Sends a POST that must succeed. */
export async function made<T>(clients: HttpClients, path: string, body: unknown): Promise<T> {
  const { status, body: text } = await clients.send("POST", path, body);
  if (status < 200 || status > 299) throw new Error(`POST ${path} answered ${status}: ${text}`);
  return (text === "" ? undefined : JSON.parse(text)) as T;
}
