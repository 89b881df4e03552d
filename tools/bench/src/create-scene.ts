import type { Installation } from "./installation.ts";
import { HttpClients } from "./load.ts";
import { createSubnet, made, registerOrganisation, registerRegion } from "./organisations.ts";

/** An organisation that creates servers, by so many clients at once, each in a subnet. */
export type CreateScene = {
  readonly organisation: { readonly organisationId: string; readonly token: string };
  readonly subnetIds: readonly string[];
  /** Of the region's agent. */
  readonly agentToken: string;
  /** The next create of a client. */
  create(client: number): Promise<void>;
  close(): void;
};

/** @param subnets of networks of their own; client n creates in the nth, and after the last in the first again */
export async function createScene(
  installation: Installation,
  slug: string,
  clients: number,
  subnets = 1,
): Promise<CreateScene> {
  const opened: HttpClients[] = [];
  const clientsFor = (headers: Record<string, string>) => {
    const each = new HttpClients(installation.api.urls, clients, headers);
    opened.push(each);
    return each;
  };
  const operator = clientsFor({ authorization: `Bearer ${installation.operatorToken}` });
  const agentToken = await registerRegion(operator, slug, 100_000);
  const organisation = await registerOrganisation(
    operator,
    clientsFor,
    installation.operatorToken,
    slug,
    slug,
  );
  const tenant = clientsFor({ authorization: `Bearer ${organisation.token}` });
  const subnetIds = [organisation.subnetId];
  while (subnetIds.length < subnets)
    subnetIds.push(await createSubnet(tenant, `n-${subnetIds.length}`, slug));
  let serial = 0;
  return {
    organisation,
    subnetIds,
    agentToken,
    async create(client) {
      serial += 1;
      await made(tenant, "/servers", {
        name: `${slug}-${serial}`,
        region: slug,
        image: "ubuntu-24.04",
        package: "s",
        subnet_id: subnetIds[client % subnetIds.length],
      });
    },
    close() {
      for (const each of opened) each.close();
    },
  };
}
