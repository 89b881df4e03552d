import { ApiCaller } from "@kule/api/testing/api-caller";

/** An ApiCaller for an API that is served somewhere: its tests' helpers then work on the process as it ships. */
export function callerAt(url: string, token: string | null): ApiCaller {
  const { origin } = new URL(url);
  const request = (path: string, init?: RequestInit) => fetch(`${origin}${path}`, init);
  return new ApiCaller({ request: request as ConstructorParameters<typeof ApiCaller>[0]["request"] }, token);
}
