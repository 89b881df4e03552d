import { invalidState, notConfigured } from "@kule/rules/refusals";
import { Conflict } from "../../platform/errors.ts";

export const noReleases = () =>
  new Conflict(
    notConfigured("agent_releases_configured", "The control plane has no folder of agent releases", {
      fix: "Set KULE_AGENT_RELEASES for the API and the worker: docs/runbooks/agent-updates.md",
    }),
  );

export const anotherIsOpen = (open: { readonly id: string; readonly version: string } | null) =>
  new Conflict(
    invalidState(
      "no_agent_rollout_open",
      open === null ? "Another rollout has just been started" : `The rollout of ${open.version} is open`,
      {
        resource: open?.id ?? null,
        fix:
          open === null
            ? "GET /agent-rollouts shows it"
            : `Wait for its end, or POST /agent-rollouts/${open.id}/cancel`,
      },
    ),
  );

export const firstRegionCannotUpdate = (region: string, why: string) =>
  new Conflict(
    invalidState("first_region_updatable", `Region ${region} cannot be the first: ${why}`, {
      resource: region,
      fix: "Name another region, or none",
    }),
  );
