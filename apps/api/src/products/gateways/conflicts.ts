import { nameTaken, quotaExceeded } from "@kule/rules/refusals";
import { Conflict } from "../../platform/errors.ts";

export function gatewayNameTaken(name: string, region: string): Conflict {
  return new Conflict(
    nameTaken("gateway_name_free", `region ${region} has a gateway named ${name}`, {
      fix: "take another name",
    }),
  );
}

export function tooManyPortForwards(gatewayId: string, limit: number): Conflict {
  return new Conflict(
    quotaExceeded("gateway_has_room", `a gateway forwards at most ${limit} ports`, {
      resource: gatewayId,
      fix: "take a port forward away",
    }),
  );
}
