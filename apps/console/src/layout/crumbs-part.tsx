import type { View } from "./view.ts";

/** One place on the way to a page. */
export type Crumb = { readonly path: string; readonly text: string };

/** The way to this page: the pages above it as links, and its own name. */
export function Crumbs(props: {
  readonly view: View;
  readonly parents: readonly Crumb[];
  readonly here: string;
}) {
  return (
    <nav class="crumbs" aria-label={props.view.messages.common.crumbs}>
      <ol>
        {props.parents.map(({ path, text }) => (
          <li>
            <a href={path}>{text}</a>
          </li>
        ))}
        <li aria-current="page">{props.here}</li>
      </ol>
    </nav>
  );
}
