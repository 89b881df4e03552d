import type { ApiRequest } from "../../platform/api-request.ts";
import type { Reply } from "../../platform/reply.ts";
import { beginFlow, providerCalled } from "./oidc-flow.ts";
import { personOf } from "./person.ts";
import { requireProofNow } from "./proof.ts";

/** Bound to this person and this session: no other session can use it. */
export async function beginIdentity(request: ApiRequest<"beginIdentity">): Promise<Reply> {
  const { id: userId, sessionId } = personOf(request);
  const { provider, purpose } = request.body;
  const found = providerCalled(request, provider);
  if (purpose === "link") await requireProofNow(request);
  return beginFlow(request, { of: purpose, userId, sessionId }, found);
}
