import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import { findImage, type Image, images, packageMismatch } from "@kule/rules/catalog/images";
import { findPackage, packages, type ServerPackage } from "@kule/rules/catalog/packages";
import { formatAddress, parseAddress, parseCidr, subnetAddresses } from "@kule/rules/networks/cidr";
import { serverNameProblem } from "@kule/rules/servers/naming";
import type { ApiRequest } from "../../platform/api-request.ts";
import { requirePermissions } from "../../platform/authorise.ts";
import { type Database, isTransaction, type Tx } from "../../platform/database.ts";
import { fieldError } from "../../platform/errors.ts";
import { isId } from "../../platform/ids.ts";
import { readTogether } from "../../platform/transaction.ts";
import { findSshKeys } from "../ssh-keys/index.ts";
import type { ServerHooks } from "./hooks.ts";
import { findSubnets, findVisibleRegions, type RegionRow, type SubnetRow } from "./surroundings.ts";

type Body = Partial<RequestBody<"createServer">>;

/** Where the server is created and of what: everything that its body names, resolved. */
export type Placement = {
  readonly region: RegionRow;
  readonly image: Image;
  readonly plan: ServerPackage;
  /** In the order of the request. */
  readonly sshPublicKeys: readonly string[];
  /** Null: the default network is created together with the server. */
  readonly subnet: SubnetRow | null;
};

/** The findings of `check`, for the transaction that follows. */
const placements = new WeakMap<ApiRequest<"createServer">, Placement>();

/** @throws Error when `checkCreateServer` did not accept the request */
export function placementOf(request: ApiRequest<"createServer">): Placement {
  const placement = placements.get(request);
  if (placement === undefined) throw new Error("the request was not checked");
  return placement;
}

/** Everything the body has wrong beyond the contract, all at once. Foreign ids read like unknown ones. */
export async function checkCreateServer(
  request: ApiRequest<"createServer">,
  body: Body,
  hooks: readonly ServerHooks[],
): Promise<readonly FieldError[]> {
  // Attaching changes the firewall.
  if (body.firewall_ids !== undefined && body.firewall_ids.length > 0)
    requirePermissions(request, ["firewall:update"]);
  const { errors, placement } = await checkPlace(request, body, hooks);
  if (placement !== null) placements.set(request, placement);
  return errors;
}

/** Who places a server, and where its facts are read: by a request before its transaction, by a product within its own. */
type Placing = {
  readonly db: Database | Tx;
  readonly organisationId: string;
  /** For a server of its own. */
  readonly isOwners?: true;
};

/** The same for all who place a server; a placement only when nothing is wrong. */
export async function checkPlace(
  request: Placing,
  body: Body,
  hooks: readonly ServerHooks[],
): Promise<{ readonly errors: readonly FieldError[]; readonly placement: Placement | null }> {
  const errors: FieldError[] = [];
  const refuse = (pointer: string, code: FieldError["code"], message: string) => {
    errors.push(fieldError(pointer, code, message));
  };
  const nameProblem = body.name === undefined ? null : serverNameProblem(body.name);
  if (nameProblem !== null) refuse("/name", "invalid_format", nameProblem);

  const named = await readNamed(request, body);
  const region = checkRegion(named.regions, body, refuse);
  const image = checkImage(body, refuse, request.isOwners === true);
  const plan = checkPackage(body, image, refuse);
  const sshPublicKeys = checkSshKeys(named.keys, body, image, refuse);
  const subnet = await checkSubnet(request, named.subnets, body, region, refuse);
  for (const hook of hooks) errors.push(...((await hook.check?.(request, body, region?.slug ?? null)) ?? []));
  if (errors.length > 0 || region === null || image === null || plan === null || subnet === null)
    return { errors, placement: null };
  return { errors, placement: { region, image, plan, sshPublicKeys, subnet: subnet.row } };
}

export type Refuse = (pointer: string, code: FieldError["code"], message: string) => void;

/** What the body names, in one round trip; the subnets of a region that it leaves out are read when that is known. */
function readNamed({ db, organisationId }: Placing, body: Body) {
  const { region, subnet_id, ssh_key_ids = [] } = body;
  const placesItself = region !== undefined || subnet_id !== undefined;
  const read = async (connection: Database | Tx) => {
    const [regions, keys, subnets] = await Promise.all([
      findVisibleRegions(connection, organisationId),
      findNamedKeys(connection, organisationId, ssh_key_ids),
      placesItself ? findSubnets(connection, organisationId, region ?? "", subnet_id) : null,
    ]);
    return { regions, keys, subnets };
  };
  return isTransaction(db) ? read(db) : readTogether(db, read);
}

/** The keys of the organisation that are named; ids in a wrong form name none. */
export function findNamedKeys(db: Database | Tx, organisationId: string, ids: readonly string[]) {
  return findSshKeys(
    db,
    organisationId,
    ids.filter((id) => isId("key", id)),
  );
}

function checkRegion(visible: readonly RegionRow[], body: Body, refuse: Refuse): RegionRow | null {
  if (body.region === undefined) {
    const [only, ...others] = visible;
    if (only !== undefined && others.length === 0) return only;
    refuse(
      "/region",
      "required",
      only === undefined ? "is required, and there is none yet" : "is required: there is more than one",
    );
    return null;
  }
  const region = visible.find((candidate) => candidate.slug === body.region);
  if (region !== undefined) return region;
  refuse("/region", "not_one_of", "is not a region of the catalogue");
  return null;
}

/**
 * The image of the catalogue that the body names; null with an error added.
 *
 * @param isOwners a product makes a server of its own, which may be of an appliance
 */
export function checkImage(
  body: { readonly image?: string | undefined },
  refuse: Refuse,
  isOwners = false,
): Image | null {
  if (body.image === undefined) return null;
  const found = findImage(body.image);
  const image = found?.isAppliance === true && !isOwners ? undefined : found;
  if (image === undefined)
    refuse("/image", "not_one_of", `must be one of: ${images.map((each) => each.slug).join(", ")}`);
  return image ?? null;
}

function checkPackage(body: Body, image: Image | null, refuse: Refuse): ServerPackage | null {
  if (body.package === undefined) return null;
  const plan = findPackage(body.package);
  if (plan === undefined) {
    refuse("/package", "not_one_of", `must be one of: ${packages.map((each) => each.slug).join(", ")}`);
    return null;
  }
  const mismatch = image === null ? null : packageMismatch(plan, image);
  if (mismatch !== null) refuse("/package", "os_plan_mismatch", mismatch);
  return plan;
}

/** The lines of the keys that the body names, in its order. */
export function checkSshKeys(
  keys: Awaited<ReturnType<typeof findNamedKeys>>,
  body: { readonly ssh_key_ids?: readonly string[] | undefined },
  image: Image | null,
  refuse: Refuse,
): string[] {
  const ids = body.ssh_key_ids ?? [];
  if (ids.length > 0 && image?.osFamily === "windows")
    refuse("/ssh_key_ids", "conflicts_with", "Windows takes no SSH keys: a console password is generated");
  const lines: string[] = [];
  for (const [index, id] of ids.entries()) {
    const key = keys.find((candidate) => candidate.id === id);
    if (key === undefined) refuse(`/ssh_key_ids/${index}`, "not_found", "no such SSH key");
    else lines.push(key.comment === "" ? key.public_key : `${key.public_key} ${key.comment}`);
  }
  return lines;
}

/** The subnet the server goes to; `row` is null when the default network is to be created. */
async function checkSubnet(
  { db, organisationId }: Placing,
  found: Awaited<ReturnType<typeof findSubnets>> | null,
  body: Body,
  region: RegionRow | null,
  refuse: Refuse,
): Promise<{ readonly row: SubnetRow | null } | null> {
  // Without a region there is none to choose from, but one that is named can be wrong all the same.
  if (region === null && body.subnet_id === undefined) return null;
  const { subnets, hasNetwork } =
    found ?? (await findSubnets(db, organisationId, region?.slug ?? "", body.subnet_id));
  if (body.subnet_id !== undefined) {
    const named = subnets.find((subnet) => subnet.id === body.subnet_id);
    if (named === undefined) {
      refuse("/subnet_id", "not_found", "no such subnet");
      return null;
    }
    if (region !== null && named.region !== region.slug)
      refuse("/subnet_id", "conflicts_with", `is not in region ${region.slug}`);
    checkPrivateIp(body, named, refuse);
    return { row: named };
  }
  const [only, ...others] = subnets;
  const chosen = subnets.find((subnet) => subnet.is_default) ?? (others.length === 0 ? only : undefined);
  if (chosen !== undefined) {
    checkPrivateIp(body, chosen, refuse);
    return { row: chosen };
  }
  if (hasNetwork) {
    refuse(
      "/subnet_id",
      "required",
      only === undefined
        ? "is required: no network of the region has a subnet yet"
        : "is required: there is more than one subnet and none of them is the default",
    );
    return null;
  }
  if (body.private_ip !== undefined)
    refuse("/private_ip", "conflicts_with", "needs subnet_id: the network is made along with this server");
  return { row: null };
}

function checkPrivateIp(body: Body, subnet: SubnetRow, refuse: Refuse): void {
  if (body.private_ip === undefined) return;
  const address = parseAddress(body.private_ip);
  const cidr = parseCidr(subnet.cidr);
  if (address === null || typeof cidr === "string") throw new Error(`${body.private_ip} in ${subnet.cidr}`);
  const { firstServer, lastServer } = subnetAddresses(cidr);
  if (address < firstServer || address > lastServer)
    refuse(
      "/private_ip",
      "out_of_range",
      `must be from ${formatAddress(firstServer)} to ${formatAddress(lastServer)}`,
    );
}
