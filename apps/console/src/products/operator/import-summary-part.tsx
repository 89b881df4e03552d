import { Icon } from "../../layout/icons.tsx";
import type { View } from "../../layout/view.ts";
import { chosenVmid } from "./import-values.ts";
import type { ImportPageProps } from "./props.ts";

/** The choices, their effect, the refusals, and the two buttons. */
export function ImportSummary(props: ImportPageProps) {
  const { view, form, organisations, networks, check } = props;
  const text = view.messages.serverImport;
  const organisation = organisations.find(({ id }) => id === form.organisationId);
  const hasSubnet = networks.some(({ region, subnets }) => region === form.region && subnets.length > 0);
  return (
    <aside class="summary" aria-label={text.title}>
      <p class="summary-name mono">{form.name || chosenVmid(form) || "–"}</p>
      <dl>
        <div>
          <dt>{text.vm}</dt>
          <dd class="figures">{chosenVmid(form) || "–"}</dd>
        </div>
        <div>
          <dt>{view.messages.common.region}</dt>
          <dd>{form.region}</dd>
        </div>
        <div>
          <dt>{text.organisation}</dt>
          <dd>{organisation?.name ?? "–"}</dd>
        </div>
      </dl>
      <div>
        <p>
          <strong>{text.what}</strong>
        </p>
        <ol class="steps-told hint">
          {text.steps.map((step) => (
            <li>{step}</li>
          ))}
        </ol>
      </div>
      <div class="check-result" id="import-check" role="status" data-problem-place="">
        <CheckResult check={check} view={view} />
      </div>
      <button type="submit" class="button" name="intent" value="check" data-size="wide" disabled={!hasSubnet}>
        {text.check}
      </button>
      <button
        type="submit"
        class="button"
        data-kind="primary"
        data-size="wide"
        name="intent"
        value="import"
        disabled={!hasSubnet || (check !== null && check.blockers.length > 0)}
        aria-describedby="import-check"
      >
        {text.submit}
      </button>
      {hasSubnet ? null : <p class="why">{text.noSubnets(organisation?.name ?? "–", form.region)}</p>}
    </aside>
  );
}

function CheckResult({ view, check }: { readonly view: View; readonly check: ImportPageProps["check"] }) {
  const text = view.messages.serverImport;
  if (check === null) return null;
  if (check.blockers.length === 0)
    return (
      <>
        <p class="ready">
          <Icon name="check" />
          {text.ready}
        </p>
        <p class="hint">{text.readyHint}</p>
      </>
    );
  return (
    <div class="blockers">
      <p>
        <Icon name="alert" />
        {text.blocked}
      </p>
      <ul>
        {check.blockers.map((blocker) => (
          <li>{blocker}</li>
        ))}
      </ul>
    </div>
  );
}
