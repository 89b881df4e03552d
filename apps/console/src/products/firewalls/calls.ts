import type { Schemas } from "@kule/contract/schemas";
import type { CalledOperation } from "../../api-operation.ts";
import { callsOf } from "../../resources/resource.ts";
import type { OverviewProps } from "./props.ts";
import { firewalls } from "./resource.ts";
import { draftOf, rulesBody } from "./rule-draft.ts";

const pathOf = (firewall: Schemas["Firewall"]) => ({ firewall_id: firewall.id });

/** The actions of the header as calls, with this firewall's own rules. */
export function headerCalls(firewall: Schemas["Firewall"]): readonly CalledOperation[] {
  const path = pathOf(firewall);
  return [
    { operation: "getFirewall", path },
    { operation: "setFirewallRules", path, body: rulesBody(draftOf(firewall.rules)) },
  ];
}

/** The actions of the overview as calls; those on attachments use the first one. */
export function overviewCalls({ firewall, places }: OverviewProps): readonly CalledOperation[] {
  const path = pathOf(firewall);
  const [server] = places.servers;
  const target = server === undefined ? { label_selector: "role=web" } : { server_id: server.id };
  const [attachment] = firewall.attachments;
  const detach: readonly CalledOperation[] =
    attachment === undefined
      ? []
      : [{ operation: "detachFirewall", path: { ...path, firewall_attachment_id: attachment.id } }];
  return [
    { operation: "attachFirewall", path, body: target },
    ...detach,
    { operation: "applyFirewall", path },
  ];
}

/** The firewall's name, description, labels and deletion as calls. */
export function settingsCalls(firewall: Schemas["Firewall"]): readonly CalledOperation[] {
  return Object.values(callsOf(firewalls, firewall));
}
