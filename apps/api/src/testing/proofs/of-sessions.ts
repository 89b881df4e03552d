import type { OperationId } from "@kule/contract/schemas";
import type { ApiCaller } from "../api-caller.ts";
import { made } from "./tenant.ts";
import type { Side, TwoOrganisations } from "./two-organisations.ts";

/** Operations that only sessions have a use for: other tokens answer 409, and some of these end the session. */
export const ofSessions: ReadonlySet<OperationId> = new Set([
  "logout",
  "joinOrganisation",
  "switchOrganisation",
]);

/** A session that nobody else needs, and the body with which it succeeds where the recipe's is another person's. */
export async function sessionFor(
  id: OperationId,
  { tenant }: Side,
  { world }: TwoOrganisations,
): Promise<{ readonly caller: ApiCaller; readonly body?: unknown }> {
  const member = await tenant.addMember("admin");
  const caller = await tenant.signIn(world, member);
  if (id !== "joinOrganisation") return { caller };
  const elsewhere = await world.addOrganisation(`joined-${member.id.slice(4, 30).replaceAll("_", "")}`);
  const invited = made(await elsewhere.owner.post("/invitations", { email: member.email, role: "viewer" }));
  return { caller, body: { secret: invited.secret } };
}
