import type { View } from "../../layout/view.ts";
import type { FileProblem } from "./props.ts";

/** The wrong lines of a zone file. */
export function FileProblems(props: {
  readonly view: View;
  readonly problems: readonly FileProblem[];
  /** Problems that the API's answer leaves out. */
  readonly more: number;
}) {
  const { view, problems, more } = props;
  const text = view.messages.domains.import;
  if (problems.length === 0) return null;
  return (
    <div class="file-problems" role="alert" id="zone_file-problem">
      <p class="problem">{text.refused}</p>
      <ul>
        {problems.map(({ line, text: words, typed }) => (
          <li>
            {line === null ? null : <strong>{text.lineOf(view.format.number(line))}</strong>}
            {typed === "" ? null : <code>{typed}</code>}
            <span>{words}</span>
          </li>
        ))}
      </ul>
      {more === 0 ? null : <p>{text.more(view.format.number(more))}</p>}
    </div>
  );
}
