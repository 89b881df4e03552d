import { CopyButton } from "./parts.tsx";
import type { View } from "./view.ts";

/** A secret that is shown on this page only once, with a copy button and a link that closes it. */
export function SecretPanel(props: {
  readonly view: View;
  readonly title: string;
  readonly lead: string;
  readonly hint: string;
  readonly secret: string;
  /** The page without it. */
  readonly back: string;
  readonly stored: string;
}) {
  return (
    <section class="panel secret" aria-labelledby="secret-title">
      <div class="panel-head">
        <h2 id="secret-title">{props.title}</h2>
      </div>
      <p>{props.lead}</p>
      <p class="secret-text">
        <code id="shown-once" class="breakable">
          {props.secret}
        </code>
        <CopyButton view={props.view} source="shown-once" />
      </p>
      <p class="hint">{props.hint}</p>
      <p>
        <a class="button" href={props.back}>
          {props.stored}
        </a>
      </p>
    </section>
  );
}
