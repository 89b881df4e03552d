import { EmptyState, PageHead } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import { CreateServer } from "./create-form.tsx";
import { serverCrumbs } from "./crumbs.ts";
import type { CreatePageProps } from "./props.ts";

export function CreatePage(props: CreatePageProps) {
  const { view, catalog } = props;
  const { messages } = view;
  if (catalog.regions.length === 0)
    return (
      <Shell view={view} title={messages.create.title} section="servers" crumbs={serverCrumbs(view)}>
        <PageHead title={messages.create.title} />
        <EmptyState title={messages.servers.empty} hint={messages.create.noRegions} />
      </Shell>
    );
  return (
    <Shell view={view} title={messages.create.title} section="servers" crumbs={serverCrumbs(view)}>
      <PageHead title={messages.create.title} />
      <CreateServer {...props} />
    </Shell>
  );
}
