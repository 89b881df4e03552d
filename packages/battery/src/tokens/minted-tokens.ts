import { addMember } from "@kule/api/testing/add-member";
import { ApiCaller } from "@kule/api/testing/api-caller";
import type { ApiWorld } from "@kule/api/testing/api-world";
import { made } from "@kule/api/testing/proofs/tenant";

export type MintedToken = { readonly kind: string; readonly secret: string };

/** A token of every kind, as their owners get them: from answers of the API. */
export async function mintEveryKind(world: ApiWorld, round: number): Promise<MintedToken[]> {
  const acme = await world.addOrganisation(`acme-${round}`);
  const organisation = made(await acme.owner.post("/tokens", { name: "ci", role: "member" }));
  const rotated = made(
    await acme.owner.post(`/tokens/${organisation.token.id}/rotate`, { overlap_seconds: 600 }),
  );
  const operator = made(await world.operator.post("/tokens", { name: "on call" }));
  const { agent } = await world.addRegion(`ist${round}`);
  const email = `ada-${round}@example.org`;
  const member = await addMember(acme.owner, { email, name: "Ada", role: "owner" });
  const session = made(
    await new ApiCaller(world.app, null).post("/auth/login", { email, password: member.password }),
  );
  return [
    { kind: "organisation", secret: organisation.secret as string },
    { kind: "rotated organisation", secret: rotated.secret as string },
    { kind: "operator", secret: operator.secret as string },
    { kind: "agent", secret: agent.token ?? "" },
    { kind: "session", secret: session.token as string },
  ];
}
