import type { CalledOperation } from "../../api-operation.ts";
import { ApiCalls } from "../../layout/api-call-part.tsx";
import { toUpdateBody, valuesOf } from "./region-form.ts";
import type { RegionPageProps } from "./region-page.tsx";
import type { RegionsPageProps } from "./regions-page.tsx";

/** Everything that a region's page does, as calls; of its tokens, with the first one. */
export function RegionCalls({ view, region, tokens }: RegionPageProps) {
  const path = { region: region.slug };
  const [token] = tokens;
  const pending = region.agent_key?.pending;
  const ofToken: readonly CalledOperation[] =
    token === undefined
      ? []
      : [
          {
            operation: "rotateAgentToken",
            path: { ...path, token_id: token.id },
            body: { overlap_seconds: 600 },
          },
          { operation: "revokeAgentToken", path: { ...path, token_id: token.id } },
        ];
  return (
    <ApiCalls
      view={view}
      calls={[
        { operation: "getRegion", path },
        { operation: "updateRegion", path, body: toUpdateBody(valuesOf(region), region.restricted_to ?? []) },
        { operation: "createAgentToken", path, body: { name: "agent-1" } },
        ...ofToken,
        ...(pending === undefined || pending === null
          ? []
          : ([
              { operation: "approveAgentKey", path, body: { fingerprint: pending.fingerprint } },
              { operation: "refuseAgentKey", path },
            ] as const)),
      ]}
    />
  );
}

/** Everything that the page of all regions does, as calls; the maintenance with the first one. */
export function RegionsCalls({ view, known }: Pick<RegionsPageProps, "view" | "known">) {
  const region = known[0]?.region;
  const ofRegion: readonly CalledOperation[] =
    region === undefined
      ? []
      : [
          {
            operation: "updateRegion",
            path: { region: region.slug },
            body: { maintenance: !region.maintenance },
          },
        ];
  return <ApiCalls view={view} calls={[{ operation: "listRegions" }, ...ofRegion]} />;
}
