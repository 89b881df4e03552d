import type { Schemas } from "@kule/contract/schemas";
import { Offered } from "../../layout/action-button.tsx";
import { Icon } from "../../layout/icons.tsx";
import type { HeadedResource } from "../../resources/resource-page.tsx";
import { headerCalls } from "./calls.ts";
import { firewalls } from "./resource.ts";

/** The header of a firewall: the way to its rules. */
export const headedFirewalls: HeadedResource<Schemas["Firewall"]> = {
  resource: firewalls,
  headOf: (view, firewall) => ({
    lead: [firewall.description, firewall.region].filter((text) => text !== "").join(" · "),
    calls: headerCalls(firewall),
    acts: (
      <Offered view={view} permission="firewall:update">
        <a class="button" href={`/firewalls/${firewall.id}/rules`}>
          <Icon name="pencil" size={15} />
          {view.messages.firewalls.edit}
        </a>
      </Offered>
    ),
  }),
};
