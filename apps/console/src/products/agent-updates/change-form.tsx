import { noProblems, Problem, SelectField, TextField } from "../../layout/fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { refusedForm } from "../../refused-form.ts";
import type { AgentUpdatesPageProps } from "./props.ts";
import { daysOfWeek, type SettingsValues, valuesOf } from "./settings-values.ts";

/** How regions are updated: when, how many at once, and whether by themselves. */
export function UpdateSettings({ view, settings, form, idempotencyKey }: AgentUpdatesPageProps) {
  const { messages } = view;
  const text = messages.agentUpdates;
  const refused = refusedForm(form, "settings");
  const problems = refused?.problems ?? noProblems;
  const values: SettingsValues = { ...valuesOf(settings), ...refused?.values };
  const field = (name: "from_time" | "to_time" | "wait_minutes" | "max_at_once", maxlength: number) => ({
    ...{ view, name, problems, maxlength, mono: true, label: text.fields[name], value: values[name] },
    ...(text.hints[name] === undefined ? {} : { hint: text.hints[name] }),
  });
  return (
    <section class="panel" id="settings" aria-labelledby="settings-title">
      <div class="panel-head">
        <h2 id="settings-title">{text.settings}</h2>
      </div>
      <form class="form" data-wide="" method="post" action="/operator/agent-updates/settings">
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-settings`} />
        <label class="check">
          <input type="checkbox" name="paused" value="true" checked={values.paused === "true"} />
          <span>
            {text.paused} <small>{text.pausedHint}</small>
          </span>
        </label>
        <fieldset class="choice" data-invalid={problems.days === undefined ? undefined : "true"}>
          <legend>{text.window}</legend>
          <p class="hint">{text.windowHint}</p>
          <Problem name="days" problems={problems.days} />
          <div class="checks">
            {daysOfWeek.map((day) => (
              <label class="check">
                <input
                  type="checkbox"
                  name="days"
                  value={day}
                  checked={values.days.split(" ").includes(day)}
                />
                <span>{text.days[day]}</span>
              </label>
            ))}
          </div>
        </fieldset>
        <div class="form-row">
          <TextField {...field("from_time", 5)} attributes={{ placeholder: "22:00" }} />
          <TextField {...field("to_time", 5)} attributes={{ placeholder: "04:00" }} />
        </div>
        <div class="form-row">
          <TextField {...field("wait_minutes", 5)} required attributes={{ inputmode: "numeric" }} />
          <TextField {...field("max_at_once", 3)} required attributes={{ inputmode: "numeric" }} />
        </div>
        <SelectField
          name="channel"
          label={text.channel}
          value={values.channel}
          options={(["stable", "candidate"] as const).map((channel) => ({
            value: channel,
            label: text.channels[channel],
          }))}
          problems={problems}
        />
        <label class="check">
          <input type="checkbox" name="automatic" value="true" checked={values.automatic === "true"} />
          <span>
            {text.automatic} <small>{text.automaticHint}</small>
          </span>
        </label>
        <button type="submit" class="button">
          {messages.common.save}
        </button>
      </form>
    </section>
  );
}
