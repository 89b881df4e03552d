import { noProblems, SelectField } from "../../layout/fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { refusedForm, typedIn } from "../../refused-form.ts";
import type { AgentUpdatesPageProps } from "./props.ts";

/** Starts a rollout of one of the releases. */
export function StartRollout({ view, releases, regions, form, idempotencyKey }: AgentUpdatesPageProps) {
  const text = view.messages.agentUpdates;
  const offered = releases.releases.filter(({ expired }) => !expired);
  if (offered.length === 0) return null;
  const problems = refusedForm(form, "start")?.problems ?? noProblems;
  const updatable = regions.filter(({ mode }) => mode === "agent");
  return (
    <section class="panel" id="start" aria-labelledby="start-title">
      <div class="panel-head">
        <h2 id="start-title">{text.start}</h2>
      </div>
      <p class="panel-lead">{text.startLead}</p>
      <form class="form" method="post" action="/operator/agent-updates/rollouts">
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-start`} />
        <div class="form-row">
          <SelectField
            name="version"
            label={text.version}
            value={typedIn(form, "start", "version", offered[0]?.version ?? "")}
            options={offered.map(({ version, channel }) => ({
              value: version,
              label: channel === "stable" ? version : `${version} · ${text.channels[channel]}`,
            }))}
            problems={problems}
          />
          <SelectField
            name="first_region"
            label={text.firstRegion}
            value={typedIn(form, "start", "first_region", "")}
            prompt={text.anyRegion}
            options={updatable.map(({ slug, name }) => ({ value: slug, label: name }))}
            hint={text.firstRegionHint}
            problems={problems}
          />
        </div>
        <button type="submit" class="button" data-kind="primary">
          {text.start}
        </button>
      </form>
    </section>
  );
}
