import { type FieldProblems, Problem, SelectField, TextField } from "../../layout/fields.tsx";
import type { View } from "../../layout/view.ts";
import type { TargetPageProps } from "./props.ts";
import { type TargetValues, targetKinds } from "./target-values.ts";

type Props = {
  readonly view: View;
  readonly values: TargetValues;
  readonly problems: FieldProblems;
};

/** What gets the traffic. The stylesheet shows only the field of the chosen kind. */
export function TargetKindFields(props: Props & Pick<TargetPageProps, "servers">) {
  const { view, values, problems, servers } = props;
  const text = view.messages.loadBalancers.target;
  return (
    <fieldset class="choice">
      <legend>{text.kind}</legend>
      <div class="checks">
        {targetKinds.map((kind) => (
          <label class="check">
            <input type="radio" name="kind" value={kind} checked={values.kind === kind} />
            <span>
              <strong>{text.kinds[kind]}</strong>
              <small>{text.kindHints[kind]}</small>
            </span>
          </label>
        ))}
      </div>
      <div data-kind-of="server">
        <SelectField
          name="server_id"
          label={text.server}
          value={values.server_id}
          prompt={servers.length === 0 ? text.noServers : text.chooseServer}
          options={servers.map(({ id, name }) => ({ value: id, label: name }))}
          problems={problems}
        />
      </div>
      <div data-kind-of="labels">
        <TextField
          view={view}
          name="label_selector"
          label={text.selector}
          value={values.label_selector}
          hint={text.selectorHint}
          problems={problems}
          mono
          maxlength={500}
          attributes={{ placeholder: "role=web,tier!=test" }}
        />
      </div>
      <div data-kind-of="address">
        <TextField
          view={view}
          name="address"
          label={text.address}
          value={values.address}
          hint={text.addressHint}
          problems={problems}
          mono
          maxlength={15}
          attributes={{ inputmode: "decimal", placeholder: "10.0.1.12" }}
        />
      </div>
    </fieldset>
  );
}

/** How much of the traffic it gets, and when. */
export function TargetShareFields({ view, values, problems }: Props) {
  const text = view.messages.loadBalancers.target;
  return (
    <>
      <TextField
        view={view}
        name="weight"
        label={text.weight}
        value={values.weight}
        hint={text.weightHint}
        problems={problems}
        required
        mono
        maxlength={3}
        attributes={{ inputmode: "numeric" }}
      />
      {(["backup", "drain"] as const).map((name) => (
        <div>
          <label class="check">
            <input type="checkbox" name={name} checked={values[name] !== ""} />
            <span>
              <strong>{text[name]}</strong>
              <small>{text[`${name}Hint`]}</small>
            </span>
          </label>
          <Problem name={name} problems={problems[name]} />
        </div>
      ))}
    </>
  );
}
