import { isDeepStrictEqual } from "node:util";
import { operations } from "@kule/contract/generated/operations";
import { newId } from "../../platform/ids.ts";
import { ApiCaller } from "../api-caller.ts";
import type { TwoOrganisations } from "./two-organisations.ts";

/** How often something was put to the test, and what was found. */
export type Findings = { readonly cases: number; readonly violations: readonly string[] };

/** No list, filter or count of one organisation may reveal that the other has grown. */
export async function listsDuringForeignGrowth({ a, b }: TwoOrganisations): Promise<Findings> {
  const paths = Object.values(operations)
    .filter((info) => info.method === "get" && info.headerParameters.includes("Kule-Organisation"))
    .filter((info) => info.id.startsWith("list") || info.id === "getNetwork" || info.id === "getSubnet")
    .map((info) =>
      info.path.replace("{network_id}", a.standing.network).replace("{subnet_id}", a.standing.subnet),
    )
    .flatMap((path) => [path, `${path}?limit=200`, `${path}?name=${b.tenant.mark}-1`])
    .filter((path) => !/\/(net|sub)_\w+\?/.test(path));
  const look = async () => {
    const seen = new Map<string, unknown>();
    for (const path of paths) seen.set(path, (await a.tenant.callers.admin.get(path)).body);
    for (const side of [a, b]) {
      const path = `/servers?label_selector=of%3D${side.tenant.mark}&limit=200`;
      seen.set(path, (await a.tenant.owner.get(path)).body);
    }
    // Differences of time alone: on a slow machine an observation has become old between the two reads.
    const text = JSON.stringify([...seen])
      .replaceAll(/"(last_used_at|request_id)":"[^"]*"/g, '"$1":""')
      .replaceAll(/"observation":"(fresh|stale)"/g, '"observation":"fresh"');
    return new Map(JSON.parse(text) as [string, { items?: unknown[] }][]);
  };
  const before = await look();
  await b.tenant.addSshKey();
  await b.tenant.addSubnet(await b.tenant.addNetwork());
  await b.tenant.addRunningServer({ subnet_id: b.standing.subnet });
  await b.tenant.addMember();
  await b.tenant.addToken();
  const after = await look();
  const violations = [...before]
    .filter(([path, seen]) => !isDeepStrictEqual(seen, after.get(path)))
    .map(([path]) => `GET ${path} answers otherwise since the other organisation has grown`);
  if (before.get("/servers")?.items?.length === 0)
    violations.push("GET /servers found nothing of one's own, so it proves nothing");
  if (before.get(`/servers?label_selector=of%3D${b.tenant.mark}&limit=200`)?.items?.length !== 0)
    violations.push("a label selector found servers of the other organisation");
  return { cases: before.size, violations };
}

/** A login that names an organisation of others must read like one that names none there is. */
export async function loginsAtForeignOrganisations(all: TwoOrganisations): Promise<Findings> {
  const nobody = new ApiCaller(all.world.app, null);
  const login = async (organisationId: string) => {
    const { email, password } = await all.a.tenant.addMember();
    const answer = await nobody.post("/auth/login", { email, password, organisation_id: organisationId });
    return { status: answer.status, body: { ...answer.body, request_id: "" } };
  };
  const violations: string[] = [];
  const own = await login(all.a.tenant.id);
  if (own.body.organisation?.id !== all.a.tenant.id)
    violations.push(`a login at one's own organisation answered ${own.status}`);
  const absent = await login(newId("org"));
  if (absent.status !== 422) violations.push(`a login at no organisation answered ${absent.status}`);
  const foreign = [all.b.tenant.id, "org_../..", "x"];
  for (const id of foreign)
    if (!isDeepStrictEqual(await login(id), absent))
      violations.push(`a login at ${id} answers otherwise than at none`);
  return { cases: foreign.length + 2, violations };
}

/** An empty identifier must reach no single resource. */
export async function emptyIdentifiers({ a }: TwoOrganisations): Promise<Findings> {
  let cases = 0;
  const violations: string[] = [];
  for (const info of Object.values(operations)) {
    const last = info.pathParameters.at(-1);
    if (last === undefined || !info.path.endsWith(`{${last}}`) || info.method === "get") continue;
    const path = info.path
      .replace(`{${last}}`, "")
      .replaceAll(/\{(\w+)\}/g, (_whole, name: string) => (name === "region" ? "r1" : a.standing.network));
    const answer = await a.tenant.owner.send(info.method.toUpperCase(), path);
    cases += 1;
    if (answer.status !== 404 && answer.status !== 405)
      violations.push(`${info.method} ${path} answered ${answer.status}`);
  }
  return { cases, violations };
}
