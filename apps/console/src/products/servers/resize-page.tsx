import { PageNotice } from "../../layout/page-notice.tsx";
import { FormSeal, PageHead } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import { serverCrumbs } from "./crumbs.ts";
import type { ResizePageProps } from "./props.ts";
import { DiskChoice, Sizes } from "./resize-fields.tsx";
import { ResizeSummary } from "./resize-summary-part.tsx";

export function ResizePage(props: ResizePageProps) {
  const { view, server, banner, idempotencyKey } = props;
  const { messages } = view;
  const action = `/servers/${server.id}/resize`;
  return (
    <Shell
      view={view}
      title={`${messages.operations.resize} · ${server.name}`}
      section="servers"
      crumbs={serverCrumbs(view, server)}
      here={messages.operations.resize}
    >
      <PageHead title={messages.operations.resize} lead={messages.resize.lead} />
      <form id="resize-form" class="create" method="post" action={action} data-redraw={`${action}/preview`}>
        <FormSeal view={view} idempotencyKey={idempotencyKey} />
        <div
          class="create-choices"
          hx-post={`${action}/preview`}
          hx-trigger="change delay:80ms"
          hx-target="#resize-form"
          hx-select="#resize-form"
          hx-swap="outerMorph"
          hx-sync="this:replace"
        >
          <PageNotice banner={banner} />
          <Sizes {...props} />
          <DiskChoice {...props} />
          <button type="submit" name="intent" value="check" class="button without-script">
            {messages.create.check}
          </button>
        </div>
        <ResizeSummary {...props} />
      </form>
    </Shell>
  );
}
