import { ApiCall } from "../../layout/api-call-part.tsx";
import { CheckOutcome, isBlocked } from "./check-outcome-part.tsx";
import { disabledReason } from "./disabled-reason.ts";
import type { ResizePageProps } from "./props.ts";
import { QuotaLeft } from "./resize-quota-part.tsx";
import { toResizeBody } from "./resize-values.ts";

/** Current and new size, the effects, the refusals, and the button. */
export function ResizeSummary(props: ResizePageProps) {
  const { view, server, form, plan, check } = props;
  const { messages, format } = view;
  const texts = messages.resize;
  const why =
    disabledReason(view, server, "resize", "server:update") ??
    (plan?.changesNothing === true ? texts.changesNothing : null);
  return (
    <aside class="summary" id="resize-summary" aria-labelledby="summary-title">
      <h2 id="summary-title">{messages.create.summary}</h2>
      <p class="summary-name mono">{server.name}</p>
      {plan === null ? null : (
        <table class="compare">
          <thead>
            <tr>
              <td></td>
              <th scope="col">{texts.now}</th>
              <th scope="col">{texts.after}</th>
            </tr>
          </thead>
          <tbody>
            <Compared
              label={messages.usage.vcpu}
              from={format.number(server.package.vcpu)}
              to={format.number(plan.wanted.vcpu)}
            />
            <Compared
              label={messages.usage.memory}
              from={format.memory(server.package.memory_mb)}
              to={format.memory(plan.wanted.memory_mb)}
            />
            <Compared
              label={messages.usage.disk}
              from={format.disk(server.disk_gb)}
              to={format.disk(plan.diskGb)}
            />
          </tbody>
        </table>
      )}
      {plan === null || plan.changesNothing ? null : (
        <p class="hint" id="restart-meaning">
          {server.status !== "running"
            ? texts.staysStopped
            : plan.needsRestart
              ? texts.restarts
              : texts.noRestart}
        </p>
      )}
      <QuotaLeft {...props} />
      <div class="check-result" id="check-result" aria-live="polite" data-problem-place="">
        <CheckOutcome view={view} check={check} texts={messages.resize} />
      </div>
      <input type="hidden" name="allow_restart" value={plan?.needsRestart === true ? "true" : "false"} />
      <button
        type="submit"
        name="intent"
        value="resize"
        class="button"
        data-kind="primary"
        data-size="wide"
        disabled={why !== null || isBlocked(check)}
        aria-describedby={why === null ? "check-result" : "resize-why"}
      >
        {plan?.needsRestart === true ? messages.operations.resizeAndRestart : messages.operations.resize}
      </button>
      {why === null ? null : (
        <p class="why" id="resize-why">
          {why}
        </p>
      )}
      <ApiCall
        view={view}
        id="resize-call"
        operation="resizeServer"
        path={{ server_id: server.id }}
        body={toResizeBody(form, plan, plan?.needsRestart === true)}
      />
    </aside>
  );
}

function Compared(props: { readonly label: string; readonly from: string; readonly to: string }) {
  return (
    <tr data-changed={props.from === props.to ? undefined : ""}>
      <th scope="row">{props.label}</th>
      <td class="figures">{props.from}</td>
      <td class="figures">{props.to}</td>
    </tr>
  );
}
