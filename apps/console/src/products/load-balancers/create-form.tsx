import { noProblems, Problem, SelectField, TextField } from "../../layout/fields.tsx";
import { LabelsField, MoreFields } from "../../layout/more-fields.tsx";
import { PageNotice } from "../../layout/page-notice.tsx";
import { Banner, FormSeal } from "../../layout/parts.tsx";
import { isBlocked } from "../servers/check-outcome-part.tsx";
import { CertificateFields } from "./certificate-fields.tsx";
import { CreateSummary } from "./create-summary-part.tsx";
import { algorithms, networkOf } from "./create-values.ts";
import { protocols } from "./listener-values.ts";
import type { CreatePageProps } from "./props.ts";

/** The form of a new load balancer: its choices, and a summary with the result of the check. */
export function CreateBalancer(props: CreatePageProps) {
  const { view, banner, problems, idempotencyKey } = props;
  const { messages } = view;
  const count = Object.values(problems).filter((texts) => texts !== undefined).length;
  return (
    <form
      id="create-form"
      class="create listener-form"
      method="post"
      action="/load-balancers/new"
      data-redraw="/load-balancers/new/preview"
    >
      <FormSeal view={view} idempotencyKey={idempotencyKey} />
      {/* Choices that determine other choices request the form again and keep focus and text. */}
      <div
        id="create-choices"
        class="create-choices"
        hx-post="/load-balancers/new/preview"
        hx-trigger="change delay:80ms, input delay:600ms"
        hx-target="#create-form"
        hx-select="#create-form"
        hx-swap="outerMorph"
        hx-sync="this:replace"
        hx-validate="false"
      >
        <div id="create-banner">
          <PageNotice banner={banner} />
          {count === 0 || !props.isSent ? null : (
            <Banner kind="problem">{messages.common.problems(count)}</Banner>
          )}
        </div>
        <PlaceFields {...props} />
        <PackageFields {...props} />
        <AddressFields {...props} />
        <FirstListener {...props} />
        <FirstTargets {...props} />
        <RareFields {...props} />
      </div>
      <CreateSummary {...props} isBlocked={isBlocked(props.check)} />
    </form>
  );
}

function PlaceFields({ view, form, problems, networks, isOpened }: CreatePageProps) {
  const { messages } = view;
  const text = messages.loadBalancers;
  return (
    <>
      <TextField
        view={view}
        name="name"
        label={messages.common.name}
        value={form.name}
        problems={problems}
        required
        autofocus={isOpened}
        mono
        maxlength={63}
        attributes={{ placeholder: "front" }}
      />
      <div class="field" data-invalid={problems.subnet_id === undefined ? undefined : "true"}>
        <label for="field-subnet_id">{text.subnet}</label>
        <select
          id="field-subnet_id"
          name="subnet_id"
          aria-describedby={
            problems.subnet_id === undefined ? "subnet_id-hint" : "subnet_id-problem subnet_id-hint"
          }
        >
          {networks
            .filter(({ subnets }) => subnets.length > 0)
            .map((network) => (
              <optgroup label={network.name}>
                {network.subnets.map((subnet) => (
                  <option value={subnet.id} selected={form.subnet_id === subnet.id}>
                    {messages.create.subnetOption(
                      subnet.name,
                      subnet.cidr,
                      messages.networks.tiers[subnet.tier],
                    )}
                  </option>
                ))}
              </optgroup>
            ))}
        </select>
        <Problem name="subnet_id" problems={problems.subnet_id} />
        <p class="hint" id="subnet_id-hint">
          {text.subnetHint}
        </p>
      </div>
    </>
  );
}

function PackageFields({ view, form, problems, catalog }: CreatePageProps) {
  const { messages, format } = view;
  const text = messages.loadBalancers;
  return (
    <fieldset class="choice" data-invalid={problems.package === undefined ? undefined : "true"}>
      <legend>{text.size}</legend>
      <Problem name="package" problems={problems.package} />
      <div class="cards" data-size="small">
        {catalog.packages.map(({ slug, vcpu, memory_mb, disk_gb }) => (
          <label class="card">
            <input
              type="radio"
              id={`package-${slug}`}
              name="package"
              value={slug}
              checked={form.package === slug}
            />
            <span class="card-face">
              <span class="card-size">{slug.toUpperCase()}</span>
              <strong class="figures">{messages.create.vcpu(format.number(vcpu))}</strong>
              <span class="figures">
                {format.memory(memory_mb)} {messages.create.memory}
              </span>
              <span class="figures">
                {format.disk(disk_gb)} {messages.create.disk}
              </span>
            </span>
          </label>
        ))}
      </div>
      <label class="check">
        <input type="checkbox" id="ha" name="ha" checked={form.ha} />
        <span>
          <strong>{text.ha}</strong>
          <small>{text.haHint}</small>
        </span>
      </label>
      <Problem name="ha" problems={problems.ha} />
    </fieldset>
  );
}

function AddressFields({ view, form, problems, networks, publicIps }: CreatePageProps) {
  const text = view.messages.loadBalancers;
  const region = networkOf(form.subnet_id, networks)?.region;
  const free = publicIps.filter((ip) => ip.region === region && ip.version === 4 && ip.status === "free");
  return (
    <SelectField
      name="public_ip"
      label={text.publicIp}
      value={form.public_ip}
      options={[
        { value: "", label: text.publicNone },
        { value: "auto", label: text.publicAuto },
        ...free.map(({ id, address }) => ({ value: id, label: address })),
      ]}
      hint={text.publicHint}
      problems={problems}
    />
  );
}

function FirstListener({ view, form, problems, networks, certificates }: CreatePageProps) {
  const text = view.messages.loadBalancers.listener;
  return (
    <fieldset class="choice">
      <legend>{text.first}</legend>
      <p class="hint">{text.firstHint}</p>
      <SelectField
        name="protocol"
        label={text.protocol}
        value={form.protocol}
        options={protocols.map((value) => ({ value, label: text.protocols[value] }))}
        problems={problems}
      />
      <div class="field-pair">
        <TextField
          view={view}
          name="port"
          label={text.port}
          value={form.port}
          problems={problems}
          optional
          mono
          maxlength={5}
          attributes={{ inputmode: "numeric" }}
        />
        <TextField
          view={view}
          name="target_port"
          label={text.targetPort}
          value={form.target_port}
          hint={text.targetPortHint}
          problems={problems}
          optional
          mono
          maxlength={5}
          attributes={{ inputmode: "numeric" }}
        />
      </div>
      <div data-of="https">
        <CertificateFields
          view={view}
          value={form.certificate_ids}
          certificates={certificates}
          region={networkOf(form.subnet_id, networks)?.region}
          problems={problems}
        />
      </div>
    </fieldset>
  );
}

function FirstTargets({ view, form, problems, servers }: CreatePageProps) {
  const text = view.messages.loadBalancers.target;
  return (
    <fieldset class="choice">
      <legend>{text.first}</legend>
      <p class="hint">{text.firstHint}</p>
      <TextField
        view={view}
        name="label_selector"
        label={text.selector}
        value={form.label_selector}
        hint={text.selectorHint}
        problems={problems}
        optional
        mono
        maxlength={500}
        attributes={{ placeholder: "role=web,tier!=test" }}
      />
      {servers.length === 0 ? null : (
        <fieldset class="field server-choice">
          <legend>{text.servers}</legend>
          <Problem name="server_ids" problems={problems.server_ids} />
          <div class="checks server-checks">
            {servers.map(({ id, name }) => (
              <label class="check">
                <input
                  type="checkbox"
                  id={`target-${id}`}
                  name="server_ids"
                  value={id}
                  checked={form.serverIds.includes(id)}
                />
                <span>{name}</span>
              </label>
            ))}
          </div>
        </fieldset>
      )}
      <TextField
        view={view}
        name="addresses"
        label={text.addresses}
        value={form.addresses}
        hint={text.addressHint}
        problems={problems}
        optional
        mono
        maxlength={2000}
        attributes={{ placeholder: "10.0.1.12" }}
      />
    </fieldset>
  );
}

function RareFields({ view, form, problems }: CreatePageProps) {
  const { messages } = view;
  const text = messages.loadBalancers;
  const values = {
    description: form.description,
    labels: form.labels,
    algorithm: form.algorithm === "round_robin" ? "" : form.algorithm,
  };
  return (
    <MoreFields
      view={view}
      id="more-load-balancer"
      form={{ of: "create", values, problems: problems ?? noProblems }}
      fields={["algorithm", "description", "labels"]}
    >
      <SelectField
        name="algorithm"
        label={text.algorithm}
        value={form.algorithm}
        options={algorithms.map((value) => ({ value, label: text.algorithms[value] }))}
        hint={text.algorithmHint}
        problems={problems}
      />
      <TextField
        view={view}
        name="description"
        label={messages.common.description}
        value={form.description}
        problems={problems}
        optional
        maxlength={500}
      />
      <LabelsField view={view} value={form.labels} problems={problems} />
    </MoreFields>
  );
}
