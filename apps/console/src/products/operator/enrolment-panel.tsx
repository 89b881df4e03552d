import { CopyButton, FormSeal } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import type { RegionPageProps } from "./props.ts";

/** The exact line for the agent's machine, with the code: shown on this page only once. */
export function EnrolmentCommand({ view, command }: { readonly view: View; readonly command: string }) {
  const text = view.messages.regionAdmin;
  return (
    <section class="panel secret" aria-labelledby="enrolment-title">
      <div class="panel-head">
        <h2 id="enrolment-title">{text.enrolCommand}</h2>
      </div>
      <p>{text.enrolCommandLead}</p>
      <p class="secret-text">
        <code id="enrol-command" class="breakable">
          {command}
        </code>
        <CopyButton view={view} source="enrol-command" />
      </p>
    </section>
  );
}

/** Creates a code with which an agent gets its own token. */
export function Enrolment({ view, region, idempotencyKey }: RegionPageProps) {
  const text = view.messages.regionAdmin;
  return (
    <section class="panel" id="enrol" aria-labelledby="enrol-title">
      <div class="panel-head">
        <h2 id="enrol-title">{text.enrolTitle}</h2>
      </div>
      <p class="panel-lead">{text.enrolLead}</p>
      <form method="post" action={`/operator/regions/${region.slug}/enrolments`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-enrol`} />
        <button type="submit" class="button">
          {text.enrol}
        </button>
      </form>
    </section>
  );
}
