import type { Schemas } from "@kule/contract/schemas";
import type { FieldProblems } from "../../layout/fields.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { Banner, EmptyState, FormSeal, PageHead } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../page-banner.ts";
import { type Check, isBlocked } from "./check-outcome.tsx";
import {
  AccessChoice,
  AdvancedChoice,
  NameChoice,
  NetworkChoice,
  PublicIpChoice,
} from "./create-details.tsx";
import { FirewallChoice } from "./create-firewalls.tsx";
import type { CreateForm } from "./create-form.ts";
import { ImageChoice, PackageChoice, RegionChoice } from "./create-offers.tsx";
import { CreateSummary } from "./create-summary.tsx";

export type CreatePageProps = {
  readonly view: View;
  readonly form: CreateForm;
  readonly catalog: Schemas["Catalog"];
  readonly sshKeys: readonly Schemas["SshKey"][];
  readonly networks: readonly Schemas["Network"][];
  readonly firewalls: readonly Schemas["Firewall"][];
  /** Addresses of the organisation. */
  readonly publicIps: readonly Schemas["PublicIp"][];
  readonly problems: FieldProblems;
  /** What is wrong with the whole of it. */
  readonly banner: PageBanner;
  readonly check: Check;
  /** The form was sent and came back, so what is wrong is also said at its top. */
  readonly sent: boolean;
  /** Just opened, so that the first field takes the focus; a preview leaves the focus where the person is. */
  readonly isOpened: boolean;
};

export function CreatePage(props: CreatePageProps) {
  const { view, catalog, form, banner, problems } = props;
  const { messages } = view;
  if (catalog.regions.length === 0)
    return (
      <Shell view={view} title={messages.create.title} section="servers">
        <PageHead title={messages.create.title} />
        <EmptyState title={messages.servers.empty} hint={messages.create.noRegions} />
      </Shell>
    );
  const count = Object.values(problems).filter((texts) => texts !== undefined).length;
  return (
    <Shell view={view} title={messages.create.title} section="servers">
      <PageHead title={messages.create.title} />
      <form
        id="create-form"
        class="create"
        method="post"
        action="/servers/new"
        data-redraw="/servers/new/preview"
      >
        {/* The first button of a form is what Enter presses; it must not be one that adds a key. */}
        {/* biome-ignore lint/a11y/noAriaHiddenOnFocusable: tabindex -1 keeps it out of reach, it only answers Enter */}
        <button
          type="submit"
          name="intent"
          value="create"
          class="visually-hidden"
          tabindex={-1}
          aria-hidden="true"
          disabled={isBlocked(props.check)}
        >
          {messages.create.submit}
        </button>
        <FormSeal view={view} idempotencyKey={form.idempotencyKey} />
        {/* Choices that change what else is on offer ask the console again and keep focus and text in place. */}
        <div
          id="create-choices"
          class="create-choices"
          hx-post="/servers/new/preview"
          hx-trigger="change delay:80ms, input delay:600ms"
          hx-target="#create-form"
          hx-select="#create-form"
          hx-swap="outerMorph"
          hx-sync="this:replace"
          hx-validate="false"
        >
          <div id="create-banner">
            <PageNotice banner={banner} />
            {count === 0 || !props.sent ? null : (
              <Banner kind="problem">{messages.common.problems(count)}</Banner>
            )}
          </div>
          <NameChoice {...props} />
          <RegionChoice {...props} />
          <ImageChoice {...props} />
          <PackageChoice {...props} />
          <AccessChoice {...props} />
          <NetworkChoice {...props} />
          <PublicIpChoice {...props} />
          <FirewallChoice {...props} />
          <AdvancedChoice {...props} />
        </div>
        <CreateSummary {...props} />
      </form>
    </Shell>
  );
}
