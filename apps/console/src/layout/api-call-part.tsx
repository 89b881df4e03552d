import { operations } from "@kule/contract/generated/operations";
import { type CalledOperation, operationCall, referenceAddress } from "../api-operation.ts";
import { CopyButton } from "./parts.tsx";
import type { View } from "./view.ts";

type Props = CalledOperation & {
  readonly view: View;
  /** Unique in the page. */
  readonly id: string;
  /** What the call does, where it does not stand beside the form that does it. */
  readonly label?: string;
};

/** What a form is as a call to the API: folded away beside it, to be copied, with the way to the reference. */
export function ApiCall(props: Props) {
  const { view, id, operation, label } = props;
  const { apiCall } = view.messages;
  return (
    <details class="call">
      <summary>
        {label ?? apiCall.summary}{" "}
        {/* In a list several read and several change the same: the operation tells them apart. */}
        <span class={label === undefined ? "visually-hidden" : "call-operation"}>{operation}</span>
      </summary>
      <p class="hint">
        {apiCall.hint} <a href={referenceAddress(view.apiUrl, operation)}>{apiCall.reference(operation)}</a>
      </p>
      <div class="call-text">
        {/* Long calls scroll sideways, which the keyboard must be able to do too. */}
        <pre tabindex={0}>
          <code id={id}>{operationCall(view.apiUrl, props)}</code>
        </pre>
        <CopyButton view={view} source={id} />
      </div>
    </details>
  );
}

/** Everything that a page does as calls, one for each of its acts, with the page's own values. */
export function ApiCalls({
  view,
  calls,
}: {
  readonly view: View;
  readonly calls: readonly CalledOperation[];
}) {
  const { apiCall, actions } = view.messages;
  return (
    <section class="panel calls" aria-labelledby="calls-title">
      <div class="panel-head">
        <h2 id="calls-title">{apiCall.acts}</h2>
      </div>
      {calls.map((called) => {
        const { audit } = operations[called.operation];
        const label = audit === null ? apiCall.read : actions[audit];
        return <ApiCall {...called} view={view} id={`call-${called.operation}`} label={label} />;
      })}
    </section>
  );
}
