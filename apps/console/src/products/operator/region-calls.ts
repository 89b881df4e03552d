import type { CalledOperation } from "../../api-operation.ts";
import type { RegionPageProps, RegionsPageProps } from "./props.ts";
import { toUpdateBody, valuesOf } from "./region-values.ts";

/** All actions of a region's page as calls; those on tokens use the first one. */
export function regionCalls({ region, tokens }: RegionPageProps): readonly CalledOperation[] {
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
  return [
    { operation: "getRegion", path },
    { operation: "updateRegion", path, body: toUpdateBody(valuesOf(region), region.restricted_to ?? []) },
    ...(region.mode === "direct" ? [] : [{ operation: "createEnrolment", path } as const]),
    { operation: "createAgentToken", path, body: { name: "agent-1" } },
    ...ofToken,
    ...(pending === undefined || pending === null
      ? []
      : ([
          { operation: "approveAgentKey", path, body: { fingerprint: pending.fingerprint } },
          { operation: "refuseAgentKey", path },
        ] as const)),
  ];
}

/** All actions of the page of all regions as calls; maintenance uses the first one. */
export function regionsCalls({ known }: Pick<RegionsPageProps, "known">): readonly CalledOperation[] {
  const region = known[0]?.region;
  return [
    { operation: "listRegions" },
    ...(region === undefined
      ? []
      : [
          {
            operation: "updateRegion",
            path: { region: region.slug },
            body: { maintenance: !region.maintenance },
          } as const,
        ]),
  ];
}
