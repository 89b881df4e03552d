import { operations } from "@kule/contract/generated/operations";
import { type CalledOperation, operationCall, referenceAddress } from "../api-operation.ts";
import { Icon } from "./icons.tsx";
import { CopyButton } from "./parts.tsx";
import type { View } from "./view.ts";

type Props = CalledOperation & {
  readonly view: View;
  /** Unique in the page. */
  readonly id: string;
  /** What the call does, where it is not beside its form. */
  readonly label?: string;
};

/** A form as a call to the API: collapsed beside the form, ready to copy, with a link to the reference. */
export function ApiCall(props: Props) {
  const { view, id, operation, label } = props;
  const { apiCall } = view.messages;
  return (
    <details class="call">
      <summary>
        {label ?? apiCall.summary}{" "}
        {/* A list may have several calls that read and several that change; the operation distinguishes them. */}
        <span class={label === undefined ? "visually-hidden" : "call-operation"}>{operation}</span>
      </summary>
      <p class="hint">
        {apiCall.hint} <a href={referenceAddress(view.apiUrl, operation)}>{apiCall.reference(operation)}</a>
      </p>
      <div class="call-text">
        {/* Long calls scroll horizontally, which must also work by keyboard. */}
        <pre tabindex={0}>
          <code id={id}>{operationCall(view.apiUrl, props)}</code>
        </pre>
        <CopyButton view={view} source={id} />
      </div>
    </details>
  );
}

/** All actions of a page as calls, one for each action, with the page's own values: a drawer at the page's side. */
export function ApiDrawer({
  view,
  calls,
}: {
  readonly view: View;
  readonly calls: readonly CalledOperation[];
}) {
  const { apiCall, actions } = view.messages;
  return (
    <details class="menu drawer" id="api-calls">
      <summary class="button" title={apiCall.acts}>
        <Icon name="code" size={17} />
        {apiCall.button}
      </summary>
      <section class="drawer-body calls" aria-labelledby="calls-title">
        <h2 id="calls-title">{apiCall.acts}</h2>
        {calls.map((called) => {
          const { audit } = operations[called.operation];
          const label = audit === null ? apiCall.read : actions[audit];
          return <ApiCall {...called} view={view} id={`call-${called.operation}`} label={label} />;
        })}
      </section>
    </details>
  );
}
