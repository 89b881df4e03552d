import type { Schemas } from "@kule/contract/schemas";
import { Status } from "../../layout/parts.tsx";
import type { HeadedResource } from "../../resources/resource-page.tsx";
import { domains } from "./resource.ts";
import { statusText, toneOf } from "./status.ts";

/** The header of a domain: its status, and its name in DNS where people write it in another way. */
export const headedDomains: HeadedResource<Schemas["Domain"]> = {
  resource: domains,
  headOf: (view, domain) => {
    const text = view.messages.domains;
    const lead = [
      domain.description,
      domain.name === domain.unicode_name ? "" : text.alsoNamed(domain.name),
    ].filter((part) => part !== "");
    return {
      status: <Status tone={toneOf(domain)}>{statusText(view, domain)}</Status>,
      ...(lead.length === 0 ? {} : { lead: lead.join(" · ") }),
      calls: [{ operation: "getDomain", path: { domain_id: domain.id } }],
    };
  },
};
