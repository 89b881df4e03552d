import { noProblems, SelectField, TextField } from "../../layout/fields.tsx";
import { LabelsField, MoreFields } from "../../layout/more-fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import type { CreateFirewallPageProps } from "./props.ts";

export const startingRules = {
  empty: [],
  ssh: [{ protocol: "tcp", ports: ["22"], peers: [{ any: true }], description: "SSH" }],
  web: [{ protocol: "tcp", ports: ["80", "443"], peers: [{ any: true }], description: "Web" }],
  ping: [
    { protocol: "icmp", peers: [{ any: true }], description: "Ping" },
    { protocol: "icmpv6", peers: [{ any: true }], description: "Ping" },
  ],
} as const;
export type Start = keyof typeof startingRules;

export function CreateFirewall({ view, regions, form, idempotencyKey }: CreateFirewallPageProps) {
  const { messages } = view;
  const text = messages.firewalls;
  const problems = form?.problems ?? noProblems;
  return (
    <form class="form" method="post" action="/firewalls/new">
      <FormSeal view={view} idempotencyKey={idempotencyKey} />
      <TextField
        view={view}
        name="name"
        label={messages.common.name}
        value={form?.values.name ?? ""}
        problems={problems}
        autofocus={form === null}
        required
        mono
        maxlength={63}
      />
      <SelectField
        name="region"
        label={messages.common.region}
        value={form?.values.region ?? ""}
        options={regions.map(({ slug, name }) => ({ value: slug, label: name }))}
        problems={problems}
      />
      <SelectField
        name="start"
        label={text.start}
        value={form?.values.start ?? "ssh"}
        options={(Object.keys(startingRules) as Start[]).map((value) => ({
          value,
          label: text.starts[value],
        }))}
        hint={text.startHint}
        problems={problems}
      />
      <TextField
        view={view}
        name="description"
        label={messages.common.description}
        value={form?.values.description ?? ""}
        problems={problems}
        optional
        maxlength={500}
      />
      <MoreFields view={view} id="more-firewall" form={form} fields={["labels"]}>
        <LabelsField view={view} value={form?.values.labels ?? ""} problems={problems} />
      </MoreFields>
      <button type="submit" class="button" data-kind="primary">
        {text.create}
      </button>
    </form>
  );
}
