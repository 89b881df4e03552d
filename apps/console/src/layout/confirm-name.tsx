import { Problem } from "./fields.tsx";
import type { View } from "./view.ts";

/**
 * The field for the name that confirms a deletion. With a script the button beside it is disabled until the name
 * matches.
 */
export function ConfirmName(props: {
  readonly view: View;
  readonly id: string;
  readonly name: string;
  /** Where another text than a name is typed. */
  readonly label?: string | undefined;
  readonly typed: string;
  readonly problems: readonly string[] | undefined;
}) {
  const isWrong = props.problems !== undefined;
  return (
    <div class="field" data-invalid={isWrong ? "true" : undefined}>
      <label for={props.id}>{props.label ?? props.view.messages.servers.deleteConfirm(props.name)}</label>
      <input
        id={props.id}
        class="mono"
        type="text"
        name="confirm_name"
        value={props.typed}
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        data-confirm={props.name}
        aria-invalid={isWrong ? "true" : undefined}
        aria-describedby={isWrong ? `${props.id}-problem` : undefined}
        autofocus={isWrong}
        required
      />
      <Problem name={props.id} problems={props.problems} />
    </div>
  );
}
