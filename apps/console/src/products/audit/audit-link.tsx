import { Icon } from "../../layout/icons.tsx";
import type { View } from "../../layout/view.ts";
import { may } from "../../session.ts";

/** The way from a resource to what was done to it; for those who may read the trail. */
export function AuditLink({ view, resource }: { readonly view: View; readonly resource: string }) {
  if (view.session === null || !may(view.session, "audit:read")) return null;
  return (
    <p class="audit-link">
      <a href={`/audit?${new URLSearchParams({ resource })}`}>
        <Icon name="jobs" size={16} /> {view.messages.audit.ofThis}
      </a>
    </p>
  );
}
