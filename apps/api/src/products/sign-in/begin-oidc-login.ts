import type { ApiRequest } from "../../platform/api-request.ts";
import type { Reply } from "../../platform/reply.ts";
import { beginFlow, providerCalled } from "../account/index.ts";

/** The invitation is checked when the person is back: here a wrong one reads like a right one. */
export async function beginOidcLogin(request: ApiRequest<"beginOidcLogin">): Promise<Reply> {
  const { provider, invitation } = request.body;
  return beginFlow(request, { of: "login" }, providerCalled(request, provider), invitation);
}
