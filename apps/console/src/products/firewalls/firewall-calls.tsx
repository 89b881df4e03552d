import type { CalledOperation } from "../../api-operation.ts";
import { ApiCalls } from "../../layout/api-call-part.tsx";
import type { FirewallPageProps } from "./show-page.tsx";

/** Everything that a firewall's page does, as calls; of what it is attached to, with the first one. */
export function FirewallCalls({ view, firewall, places }: FirewallPageProps) {
  const path = { firewall_id: firewall.id };
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
        {
          operation: "updateFirewall",
          path,
          body: { name: firewall.name, description: firewall.description, labels: firewall.labels },
        },
        { operation: "deleteFirewall", path },
      ]}
    />
  );
}
