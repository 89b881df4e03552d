import { CreateLink, EmptyState } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";

/** Shown on every operators' page while there is no region. */
export function NoRegions({ view }: { readonly view: View }) {
  const { operator, regionAdmin } = view.messages;
  return (
    <EmptyState title={operator.noRegions} hint={operator.noRegionsHint}>
      <CreateLink path="/operator/regions/new">{regionAdmin.create}</CreateLink>
    </EmptyState>
  );
}
