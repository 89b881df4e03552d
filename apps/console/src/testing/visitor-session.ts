import { ApiCaller } from "@kule/api/testing/api-caller";
import type { PanelWorld } from "./panel-world.ts";
import { done } from "./scene-api.ts";
import type { People, Who } from "./scenes/people.ts";
import type { Visitor } from "./visitor.ts";

type World = Pick<PanelWorld<People>, "facts" | "real" | "sealer">;

/** The API's token in the cookie of a visitor who has signed in. */
export async function sessionTokenOf({ sealer }: World, { cookies }: Visitor): Promise<string> {
  const session = await sealer.open("session", cookies.get("kule_session") ?? "");
  if (session === null) throw new Error("the visitor has no session");
  return session.token as string;
}

/** The API, called by the session that the scene has opened for the person: the person at another device. */
export function elsewhere({ facts, real }: World, who: Who): ApiCaller {
  return new ApiCaller(real.app, facts.people[who].session.token);
}

/** The person ends every session but that of the scene. */
export async function endSessions(world: World, who: Who): Promise<void> {
  await done(elsewhere(world, who).post("/me/sessions/end-others"));
}
