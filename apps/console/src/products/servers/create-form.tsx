import { PageNotice } from "../../layout/page-notice.tsx";
import { Banner, FormSeal } from "../../layout/parts.tsx";
import { isBlocked } from "./check-outcome-part.tsx";
import {
  AccessChoice,
  AdvancedChoice,
  NameChoice,
  NetworkChoice,
  PublicIpChoice,
} from "./create-details-fields.tsx";
import { FirewallChoice } from "./create-firewall-fields.tsx";
import { ImageChoice, PackageChoice, RegionChoice } from "./create-offer-fields.tsx";
import { CreateSummary } from "./create-summary-part.tsx";
import type { CreatePageProps } from "./props.ts";

/** The form of a new server: its choices, and a summary. */
export function CreateServer(props: CreatePageProps) {
  const { view, form, banner, problems } = props;
  const { messages } = view;
  const count = Object.values(problems).filter((texts) => texts !== undefined).length;
  return (
    <form
      id="create-form"
      class="create"
      method="post"
      action="/servers/new"
      data-redraw="/servers/new/preview"
    >
      {/* Enter activates the first button of a form; it must not be one that adds a key. */}
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
      {/* Choices that determine other choices request the form again and keep focus and text. */}
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
  );
}
