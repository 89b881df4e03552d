import { ApiCall } from "../../layout/api-call-part.tsx";
import { CheckOutcome } from "../servers/check-outcome-part.tsx";
import { createBody, networkOf } from "./create-values.ts";
import type { CreatePageProps } from "./props.ts";
import { listenerName } from "./status.ts";

/** The summary of the new load balancer, the result of the check, and the button. */
export function CreateSummary(props: CreatePageProps & { readonly isBlocked: boolean }) {
  const { view, form, networks, check, isBlocked } = props;
  const { messages, format } = view;
  const text = messages.loadBalancers;
  const network = networkOf(form.subnet_id, networks);
  const subnet = network?.subnets.find(({ id }) => id === form.subnet_id);
  const body = createBody(form);
  const [listener] = body.listeners ?? [];
  return (
    <aside class="summary" id="create-summary" aria-labelledby="summary-title">
      <h2 id="summary-title">{messages.create.summary}</h2>
      <p class="summary-name mono">{form.name === "" ? text.summaryName : form.name}</p>
      <dl>
        <div>
          <dt>{text.network}</dt>
          <dd>{network === undefined ? "–" : `${network.name} · ${subnet?.name}`}</dd>
        </div>
        <div>
          <dt>{text.size}</dt>
          <dd>{`${form.package.toUpperCase()} · ${form.ha ? text.onTwo : text.onOne}`}</dd>
        </div>
        <div>
          <dt>{text.listener.first}</dt>
          <dd>
            {listener === undefined
              ? messages.common.none
              : listenerName(view, { protocol: form.protocol as "http", port: listener.port })}
          </dd>
        </div>
        <div>
          <dt>{text.targets.title}</dt>
          <dd class="figures">{format.number(body.targets?.length ?? 0)}</dd>
        </div>
      </dl>
      <div class="check-result" id="check-result" aria-live="polite" data-problem-place="">
        <CheckOutcome view={view} check={check} texts={messages.create} />
      </div>
      <button
        type="submit"
        name="intent"
        value="create"
        class="button"
        data-kind="primary"
        data-size="wide"
        disabled={isBlocked}
        aria-describedby="check-result"
      >
        {text.create}
      </button>
      {isBlocked ? (
        <button type="submit" name="intent" value="check" class="button" data-size="wide" formnovalidate>
          {messages.create.checkAgain}
        </button>
      ) : null}
      {/* The shown call is valid even before anything is typed. */}
      <ApiCall
        view={view}
        id="create-call"
        operation="createLoadBalancer"
        body={createBody({ ...form, name: form.name === "" ? "front" : form.name })}
      />
    </aside>
  );
}
