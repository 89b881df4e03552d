import type { Schemas } from "@kule/contract/schemas";
import type { FieldProblems } from "../../layout/fields.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { FormSeal, PageHead } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import type { Check } from "./check-outcome.tsx";
import { DiskChoice, Sizes } from "./resize-choices.tsx";
import type { ResizeForm, ResizePlan } from "./resize-form.ts";
import { ResizeSummary } from "./resize-summary.tsx";

export type ResizePageProps = {
  readonly view: View;
  readonly server: Schemas["Server"];
  readonly catalog: Schemas["Catalog"];
  /** Empty for whoever may not see them. */
  readonly quotas: readonly Schemas["Quota"][];
  readonly form: ResizeForm;
  readonly plan: ResizePlan | null;
  readonly check: Check;
  readonly problems: FieldProblems;
  readonly banner: PageBanner;
  readonly idempotencyKey: string;
};

export function ResizePage(props: ResizePageProps) {
  const { view, server, banner, idempotencyKey } = props;
  const { messages } = view;
  const action = `/servers/${server.id}/resize`;
  return (
    <Shell view={view} title={`${messages.operations.resize} · ${server.name}`} section="servers">
      <p class="crumbs">
        <a href={`/servers/${server.id}`}>{server.name}</a>
      </p>
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
