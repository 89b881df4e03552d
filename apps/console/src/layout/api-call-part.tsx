import { type CalledOperation, operationCall, referenceAddress } from "../api-operation.ts";
import { CopyButton } from "./parts.tsx";
import type { View } from "./view.ts";

/**
 * What a form or an act is as a call to the API: folded away beside it, to be copied, with the way to the reference.
 *
 * @param id unique in the page
 */
export function ApiCall(
  props: CalledOperation & {
    readonly view: View;
    readonly id: string;
    /** What the call does, where it does not stand beside the form that does it. */
    readonly label?: string;
  },
) {
  const { view, id, operation, label } = props;
  const { apiCall } = view.messages;
  return (
    <details class="call">
      <summary>
        {label ?? apiCall.summary} <span class="visually-hidden">{operation}</span>
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
