import { noProblems, TextField } from "../../layout/fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { refusedForm } from "../../refused-form.ts";
import type { OverviewProps } from "./props.ts";

/** The ranges of the pool's addresses, and the form that adds one. */
export function Ranges(props: OverviewProps) {
  const { view, pool, ranges, idempotencyKey } = props;
  const { messages, format } = view;
  const text = messages.ipPools;
  const adding = refusedForm(props.form, "range");
  return (
    <section class="panel" id="ranges" aria-labelledby="ranges-title">
      <div class="panel-head">
        <h2 id="ranges-title">{text.ranges}</h2>
      </div>
      {ranges.length === 0 ? (
        <p class="hint">{text.noRanges}</p>
      ) : (
        <ul class="rows">
          {ranges.map((range) => {
            const problems = refusedForm(props.form, range.id)?.problems.range;
            return (
              <li>
                <form
                  class="row-form"
                  method="post"
                  action={`/ip-pools/${pool.id}/ranges/${range.id}/remove`}
                >
                  <FormSeal view={view} idempotencyKey={`${idempotencyKey}-${range.id}`} />
                  <div>
                    <span class="mono anywhere">{`${range.start} – ${range.end}`}</span>
                    <span class="hint">{text.addresses(format.number(range.size))}</span>
                  </div>
                  <button type="submit" class="button" aria-label={text.removeNamed(range.start)}>
                    {text.remove}
                  </button>
                  {problems === undefined ? null : (
                    <p class="problem" role="alert">
                      {problems.join(" ")}
                    </p>
                  )}
                </form>
              </li>
            );
          })}
        </ul>
      )}
      <details class="add-inline" open={adding !== null || ranges.length === 0}>
        <summary>{text.addRange}</summary>
        <form class="form" method="post" action={`/ip-pools/${pool.id}/ranges`}>
          <FormSeal view={view} idempotencyKey={`${idempotencyKey}-range`} />
          <TextField
            view={view}
            name="range"
            label={text.range}
            value={adding?.values.range ?? ""}
            hint={text.rangeHint}
            problems={adding?.problems ?? noProblems}
            required
            mono
            maxlength={100}
          />
          <button type="submit" class="button" data-kind={ranges.length === 0 ? "primary" : undefined}>
            {text.addRange}
          </button>
        </form>
      </details>
    </section>
  );
}
