import type { Schemas } from "@kule/contract/schemas";
import { type FieldProblems, Problem, TextField } from "../../layout/fields.tsx";
import type { View } from "../../layout/view.ts";
import type { RegionValues } from "./region-values.ts";

type Props = {
  readonly view: View;
  readonly values: RegionValues;
  readonly problems: FieldProblems;
};

/** The settings of a region that can be changed later: its name, its country and its number ranges. */
export function RegionFields({ view, values, problems }: Props) {
  const { messages } = view;
  const text = messages.regionAdmin;
  return (
    <>
      <div class="form-row">
        <TextField
          view={view}
          name="name"
          label={messages.common.name}
          value={values.name}
          problems={problems}
          required
          maxlength={100}
          attributes={{ placeholder: "Istanbul 1" }}
        />
        <TextField
          view={view}
          name="country"
          label={text.country}
          value={values.country}
          hint={text.countryHint}
          problems={problems}
          optional
          mono
          maxlength={2}
          attributes={{ placeholder: "TR" }}
        />
      </div>
      <div class="form-row">
        <RangeField
          of="vmid"
          label={text.vmidRange}
          hint={text.vmidRangeHint}
          first={values.vmid_first}
          last={values.vmid_last}
          view={view}
          problems={problems}
        />
        <RangeField
          of="vlan"
          label={text.vlanRange}
          hint={text.vlanRangeHint}
          first={values.vlan_first}
          last={values.vlan_last}
          view={view}
          problems={problems}
        />
      </div>
    </>
  );
}

/** The only organisations that see a region; with none checked all of them do. */
export function RestrictedTo(props: {
  readonly view: View;
  readonly organisations: readonly Schemas["Organisation"][];
  /** Their ids. */
  readonly ticked: readonly string[];
  readonly problems: FieldProblems;
}) {
  const { view, organisations, ticked, problems } = props;
  const text = view.messages.regionAdmin;
  return (
    <fieldset class="choice" data-invalid={problems.restricted_to === undefined ? undefined : "true"}>
      <legend>{text.restrict}</legend>
      <p class="hint">{text.restrictHint}</p>
      <Problem name="restricted_to" problems={problems.restricted_to} />
      <div class="checks">
        {organisations.map(({ id, name, slug }) => (
          <label class="check">
            <input type="checkbox" name="restricted_to" value={id} checked={ticked.includes(id)} />
            <span>
              {name} <small class="mono">{slug}</small>
            </span>
          </label>
        ))}
      </div>
    </fieldset>
  );
}

/** First and last of a number range, which are validated together. */
function RangeField(props: {
  readonly view: View;
  readonly of: "vmid" | "vlan";
  readonly label: string;
  readonly hint: string;
  readonly first: string;
  readonly last: string;
  readonly problems: FieldProblems;
}) {
  const { of, first, last } = props;
  const text = props.view.messages.regionAdmin;
  const name = `${of}_range`;
  const problems = props.problems[name];
  const described = problems === undefined ? `${name}-hint` : `${name}-problem ${name}-hint`;
  return (
    <fieldset class="field range" data-invalid={problems === undefined ? undefined : "true"}>
      <legend>{props.label}</legend>
      <div class="range-ends">
        {(
          [
            ["first", first, text.first],
            ["last", last, text.last],
          ] as const
        ).map(([end, value, label]) => (
          <input
            type="text"
            id={`field-${of}_${end}`}
            name={`${of}_${end}`}
            class="mono"
            value={value}
            required
            maxlength={9}
            inputmode="numeric"
            autocomplete="off"
            aria-label={`${props.label}: ${label}`}
            aria-describedby={described}
            aria-invalid={problems === undefined ? undefined : "true"}
          />
        ))}
      </div>
      <Problem name={name} problems={problems} />
      <p class="hint" id={`${name}-hint`}>
        {props.hint}
      </p>
    </fieldset>
  );
}
