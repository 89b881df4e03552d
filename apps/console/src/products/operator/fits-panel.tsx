import type { Schemas } from "@kule/contract/schemas";
import { SelectField, TextField } from "../../layout/fields.tsx";
import { Banner } from "../../layout/parts.tsx";
import type { View } from "../../layout/view.ts";
import type { FitsProps } from "./props.ts";

/** The capacity check, which changes nothing: its question is in the address, so that it can be shared and repeated. */
export function Fits({ view, regions, organisations, catalog, asked }: FitsProps) {
  const { messages } = view;
  const text = messages.operator.fits;
  if (catalog === null || regions.length === 0) return null;
  const values = asked?.form.values ?? {};
  const problems = asked?.form.problems ?? {};
  return (
    <section class="panel" id="fits" aria-labelledby="fits-title">
      <div class="panel-head">
        <h2 id="fits-title">{text.title}</h2>
      </div>
      <p class="panel-lead">{text.lead}</p>
      <form class="form" data-wide="" method="get" action="/operator/regions#fits">
        <div class="form-row" data-wide="">
          <SelectField
            name="region"
            label={messages.common.region}
            value={values.region ?? ""}
            options={regions.map(({ slug, name }) => ({ value: slug, label: name }))}
            problems={problems}
          />
          <SelectField
            name="image"
            label={text.image}
            value={values.image ?? ""}
            options={catalog.images.map(({ slug, name }) => ({ value: slug, label: name }))}
            problems={problems}
          />
          <SelectField
            name="package"
            label={text.package}
            value={values.package ?? ""}
            options={catalog.packages.map((offered) => ({
              value: offered.slug,
              label: packageLabel(view, offered),
            }))}
            problems={problems}
          />
          <TextField
            view={view}
            name="count"
            label={text.count}
            value={values.count ?? "1"}
            problems={problems}
            maxlength={4}
            attributes={{ inputmode: "numeric" }}
          />
          <SelectField
            name="organisation"
            label={text.organisation}
            value={values.organisation ?? view.session?.organisation?.id ?? ""}
            options={organisations.map(({ id, name }) => ({ value: id, label: name }))}
            problems={problems}
          />
        </div>
        <button type="submit" class="button">
          {text.submit}
        </button>
      </form>
      {asked?.problem == null ? null : <Banner kind="problem">{asked.problem}</Banner>}
      {asked?.answer == null ? null : (
        <Answer view={view} answer={asked.answer} count={values.count ?? "1"} />
      )}
    </section>
  );
}

function Answer(props: {
  readonly view: View;
  readonly answer: Schemas["CatalogAnswer"];
  readonly count: string;
}) {
  const { answer } = props;
  const { messages, format } = props.view;
  const text = messages.operator.fits;
  const count = format.number(Number(props.count));
  if (!answer.known && answer.placeable && answer.reason !== "silent")
    return <Banner kind="warning">{text.unknown}</Banner>;
  return (
    <Banner kind={answer.placeable ? "notice" : "problem"}>
      <p>
        <strong>{answer.placeable ? text.yes(count) : text.no(count)}</strong>
      </p>
      <p>
        {answer.reason === null ? null : (text.reasons[answer.reason] ?? answer.reason)}{" "}
        {answer.fits === null ? null : text.all(format.number(answer.fits))}
      </p>
    </Banner>
  );
}

/** `M · 2 vCPU · 4 GB · 80 GB` */
export function packageLabel(view: View, offered: Schemas["Package"]): string {
  const { messages, format } = view;
  return [
    offered.slug.toUpperCase(),
    messages.create.vcpu(format.number(offered.vcpu)),
    format.memory(offered.memory_mb),
    format.disk(offered.disk_gb),
  ].join(" · ");
}
