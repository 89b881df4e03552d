import { alreadyAttached, nameTaken, quotaExceeded } from "@kule/rules/refusals";
import { Conflict } from "../../platform/errors.ts";

export function firewallNameTaken(name: string, region: string): Conflict {
  return new Conflict(
    nameTaken("firewall_name_free", `region ${region} has a firewall named ${name}`, {
      fix: "take another name",
    }),
  );
}

export function firewallAttached(firewallId: string, attachmentId: string | null): Conflict {
  return new Conflict(
    alreadyAttached("firewall_not_attached", "the firewall is attached to it already", {
      resource: attachmentId ?? firewallId,
      fix: null,
    }),
  );
}

export function tooManyRules(firewallId: string, limit: number): Conflict {
  return new Conflict(
    quotaExceeded("firewall_has_room", `a firewall has at most ${limit} rules`, {
      resource: firewallId,
      fix: "remove a rule, or make another firewall",
    }),
  );
}

export function tooManyFirewalls(region: string, limit: number): Conflict {
  return new Conflict(
    quotaExceeded("organisation_has_room", `an organisation has at most ${limit} firewalls in a region`, {
      resource: region,
      fix: "delete a firewall",
    }),
  );
}

/** @param serverId null of a server that is not there yet */
export function tooManyRulesOfServer(serverId: string | null, limit: number): Conflict {
  return new Conflict(
    quotaExceeded(
      "server_has_room",
      `the firewalls of ${serverId === null ? "the server" : `server ${serverId}`} would have more than ${limit} rules together`,
      { resource: serverId, fix: "remove rules, or attach fewer firewalls to it" },
    ),
  );
}
