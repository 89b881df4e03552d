import { ApiCall } from "../../layout/api-call-part.tsx";
import { CheckOutcome, isBlocked } from "./check-outcome-part.tsx";
import { ChosenFirewalls } from "./create-firewall-fields.tsx";
import { takesSshKeys, toCreateBody } from "./create-values.ts";
import type { CreatePageProps } from "./props.ts";

/** The summary of the new server, the result of the check, and the button. It stays visible while the page scrolls. */
export function CreateSummary(props: CreatePageProps) {
  const { view, form, catalog } = props;
  const { messages, format } = view;
  const image = catalog.images.find(({ slug }) => slug === form.image);
  const size = catalog.packages.find(({ slug }) => slug === form.package);
  const region = catalog.regions.find(({ slug }) => slug === form.region);
  // The shown call is valid even before anything is typed.
  const named = form.name === "" ? { ...form, name: "web-1" } : form;
  const keys = takesSshKeys(catalog, form) ? form.sshKeyIds.length : 0;
  return (
    <aside class="summary" id="create-summary" aria-labelledby="summary-title">
      <h2 id="summary-title">{messages.create.summary}</h2>
      <p class="summary-name mono">{form.name === "" ? messages.create.summaryName : form.name}</p>
      <dl>
        <div>
          <dt>{messages.create.region}</dt>
          <dd>{region?.name ?? "–"}</dd>
        </div>
        <div>
          <dt>{messages.create.image}</dt>
          <dd>{image?.name ?? "–"}</dd>
        </div>
        <div>
          <dt>{messages.create.package}</dt>
          <dd class="figures">
            {size === undefined
              ? "–"
              : `${messages.create.vcpu(format.number(size.vcpu))} · ${format.memory(size.memory_mb)} · ${format.disk(size.disk_gb)}`}
          </dd>
        </div>
        <div>
          <dt>{messages.create.access}</dt>
          <dd>{keys === 0 ? messages.create.password : messages.create.keys(keys)}</dd>
        </div>
        <ChosenFirewalls {...props} />
      </dl>
      <div class="check-result" id="check-result" aria-live="polite" data-problem-place="">
        <CheckOutcome view={view} check={props.check} texts={messages.create} />
        <CreatedWithServer {...props} />
      </div>
      <button
        type="submit"
        name="intent"
        value="create"
        class="button"
        data-kind="primary"
        data-size="wide"
        disabled={isBlocked(props.check)}
        aria-describedby="check-result"
      >
        {messages.create.submit}
      </button>
      {isBlocked(props.check) ? (
        <button type="submit" name="intent" value="check" class="button" data-size="wide" formnovalidate>
          {messages.create.checkAgain}
        </button>
      ) : null}
      <ApiCall view={view} id="create-call" operation="createServer" body={toCreateBody(catalog, named)} />
    </aside>
  );
}

/** The network that is created along with the server, for an organisation without one. */
function CreatedWithServer({ view, check }: CreatePageProps) {
  const along = typeof check === "string" || check.blockers.length > 0 ? null : check.would?.created;
  if (along === null || along === undefined) return null;
  return <p class="hint">{view.messages.create.createsAlong(along.network.name, along.subnet.name)}</p>;
}
