import { SelectField, TextField } from "../../layout/fields.tsx";
import { LabelsField, MoreFields } from "../../layout/more-fields.tsx";
import { Banner } from "../../layout/parts.tsx";
import { packageLabel } from "./fits-panel.tsx";
import type { ImportPageProps } from "./props.ts";

/** The future server: its name, its image, its size and its address. */
export function Server({ view, form, organisations, catalog, networks, problems }: ImportPageProps) {
  const { messages } = view;
  const text = messages.serverImport;
  const organisation = organisations.find(({ id }) => id === form.organisationId);
  const subnets = networks
    .filter(({ region }) => region === form.region)
    .flatMap((network) => network.subnets.map((subnet) => ({ network, subnet })));
  return (
    <section class="panel" aria-label={messages.operator.server}>
      <div class="form" data-wide="">
        <TextField
          view={view}
          name="name"
          label={text.name}
          value={form.name}
          hint={text.nameHint}
          problems={problems}
          required
          mono
          maxlength={63}
        />
        <div class="form-row">
          <SelectField
            name="image"
            label={text.image}
            value={form.image}
            options={(catalog?.images ?? []).map(({ slug, name }) => ({ value: slug, label: name }))}
            problems={problems}
          />
          <SelectField
            name="package"
            label={text.package}
            value={form.package}
            options={(catalog?.packages ?? []).map((offered) => ({
              value: offered.slug,
              label: packageLabel(view, offered),
            }))}
            hint={text.packageHint}
            problems={problems}
          />
        </div>
        {subnets.length === 0 ? (
          <Banner kind="warning">
            <p>{text.noSubnets(organisation?.name ?? "–", form.region)}</p>
            {/* Chooses the organisation of this form, and continues to its networks. */}
            <input type="hidden" name="return_to" value="/networks" />
            <button type="submit" class="button" formaction="/organisations" formnovalidate>
              {text.makeNetwork}
            </button>
          </Banner>
        ) : (
          <div class="form-row">
            <SelectField
              name="subnet_id"
              label={text.subnet}
              value={form.subnetId}
              options={subnets.map(({ network, subnet }) => ({
                value: subnet.id,
                label: `${network.name} / ${messages.create.subnetOption(subnet.name, subnet.cidr, subnet.tier)}`,
              }))}
              hint={text.subnetHint}
              problems={problems}
            />
            <TextField
              view={view}
              name="private_ip"
              label={text.privateIp}
              value={form.privateIp}
              hint={text.privateIpHint}
              problems={problems}
              optional
              mono
              maxlength={15}
            />
          </div>
        )}
        <MoreFields
          view={view}
          id="more-import"
          form={{ of: "import", values: { labels: form.labels }, problems }}
          fields={["labels"]}
        >
          <LabelsField view={view} value={form.labels} problems={problems} />
        </MoreFields>
      </div>
    </section>
  );
}
