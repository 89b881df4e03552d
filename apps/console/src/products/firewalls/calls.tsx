import type { CalledOperation } from "../../api-operation.ts";
import { ApiCalls } from "../../layout/api-call-part.tsx";
import { callsOf } from "../../resources/resource.ts";
import type { FirewallPageProps } from "./props.ts";
import { firewalls } from "./resource.ts";

/** All actions of a firewall's page as calls; those on attachments use the first one. */
export function FirewallCalls({ view, firewall, places }: FirewallPageProps) {
  const path = { firewall_id: firewall.id };
  const change = callsOf(firewalls, firewall);
  const [server] = places.servers;
  const target = server === undefined ? { label_selector: "role=web" } : { server_id: server.id };
  const [attachment] = firewall.attachments;
  const detach: readonly CalledOperation[] =
    attachment === undefined
      ? []
      : [{ operation: "detachFirewall", path: { ...path, firewall_attachment_id: attachment.id } }];
  return (
    <ApiCalls
      view={view}
      calls={[
        { operation: "getFirewall", path },
        { operation: "attachFirewall", path, body: target },
        ...detach,
        { operation: "applyFirewall", path },
        change.update,
        change.delete,
      ]}
    />
  );
}
