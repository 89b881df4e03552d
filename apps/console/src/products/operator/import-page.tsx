import type { Schemas } from "@kule/contract/schemas";
import { apiCall } from "../../api-call.ts";
import { type FieldProblems, Problem, SelectField, TextField } from "../../layout/fields.tsx";
import { Icon } from "../../layout/icons.tsx";
import { OperatorTabs } from "../../layout/operator-tabs.tsx";
import { Banner, CallExample, FormSeal, PageHead, When } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";
import type { PageBanner } from "../../refused-form.ts";
import { packageLabel } from "./fits.tsx";
import { chosenVmid, type ImportForm, otherVm, toImportBody } from "./import-form.ts";

export type ImportPageProps = {
  readonly view: View;
  readonly form: ImportForm;
  readonly regions: readonly Schemas["Region"][];
  readonly organisations: readonly Schemas["Organisation"][];
  readonly catalog: Schemas["Catalog"] | null;
  readonly networks: readonly Schemas["Network"][];
  /** Guests of the chosen region that can be taken over, as far as they were seen. */
  readonly foreign: readonly Schemas["Drift"][];
  readonly problems: FieldProblems;
  readonly banner: PageBanner;
  /** What the check said: nothing in the way, or what is; null without one. */
  readonly check: { readonly blockers: readonly string[] } | null;
};

/** A form whose lists follow its choices: they are made anew by the server, with a script or a button. */
export function ImportPage(props: ImportPageProps) {
  const { view, form, banner } = props;
  const text = view.messages.serverImport;
  return (
    <Shell view={view} title={text.title} section="operator">
      <OperatorTabs view={view} current="import" />
      <PageHead title={text.title} lead={text.lead} />
      {banner === null ? null : <Banner kind={banner.kind}>{banner.text}</Banner>}
      <form id="import-form" class="create" method="post" action="/operator/import">
        {/* The first button of a form is what Enter presses: it looks, and imports nothing. */}
        {/* biome-ignore lint/a11y/noAriaHiddenOnFocusable: tabindex -1 keeps it out of reach, it only answers Enter */}
        <button
          type="submit"
          name="intent"
          value="check"
          class="visually-hidden"
          tabindex={-1}
          aria-hidden="true"
        >
          {text.check}
        </button>
        <FormSeal view={view} idempotencyKey={form.idempotencyKey} />
        {/* Region, organisation and VM change what else is on offer: the console is asked again. */}
        <div
          id="import-choices"
          class="stack"
          hx-post="/operator/import/preview"
          hx-trigger="change delay:80ms"
          hx-target="#import-form"
          hx-select="#import-form"
          hx-swap="outerMorph"
          hx-sync="this:replace"
          hx-validate="false"
        >
          <Place {...props} />
          <Machine {...props} />
          <Server {...props} />
        </div>
        <Aside {...props} />
      </form>
      <CallExample
        view={view}
        id="import-call"
        call={apiCall({
          apiUrl: view.apiUrl,
          method: "POST",
          path: "/servers/import",
          body: toImportBody(form),
        })}
      />
    </Shell>
  );
}

function Place({ view, form, regions, organisations, problems }: ImportPageProps) {
  const { messages } = view;
  const text = messages.serverImport;
  return (
    <section class="panel" aria-label={messages.common.region}>
      <div class="form" data-wide="">
        <div class="form-row">
          <SelectField
            name="region"
            label={messages.common.region}
            value={form.region}
            options={regions.map(({ slug, name }) => ({ value: slug, label: name }))}
            problems={problems}
          />
          <SelectField
            name="organisation_id"
            label={text.organisation}
            value={form.organisationId}
            options={organisations.map(({ id, name }) => ({ value: id, label: name }))}
            hint={text.organisationHint}
            problems={problems}
          />
        </div>
        <button type="submit" class="button without-script" name="intent" value="refresh">
          {text.refresh}
        </button>
      </div>
    </section>
  );
}

function Machine({ view, form, regions, foreign, problems }: ImportPageProps) {
  const text = view.messages.serverImport;
  const region = regions.find(({ slug }) => slug === form.region);
  const range = region === undefined ? "–" : `${region.vmid_range.first}–${region.vmid_range.last}`;
  const typed = foreign.length === 0 || form.vmid === otherVm;
  return (
    <section class="panel">
      <fieldset
        class="choice"
        data-invalid={problems.vmid === undefined ? undefined : "true"}
        aria-describedby={problems.vmid === undefined ? "vmid-hint" : "vmid-problem vmid-hint"}
      >
        <legend>{text.vm}</legend>
        <Problem name="vmid" problems={problems.vmid} />
        {foreign.length === 0 ? (
          <div class="hint" id="vmid-hint">
            <strong>{text.noneFound}.</strong> {text.noneFoundHint(range)}
          </div>
        ) : (
          <p class="hint" id="vmid-hint">
            {text.vmHint}
          </p>
        )}
        <div class="checks">
          {foreign.map((vm) => (
            <label class="check">
              <input type="radio" name="vmid" value={vm.vmid} checked={form.vmid === String(vm.vmid)} />
              <span>
                <span>
                  <strong class="figures">{vm.vmid}</strong> <span class="mono">{vm.vm_name}</span>
                </span>
                <small>
                  {vm.node} · <When view={view} time={vm.first_seen_at} />
                </small>
              </span>
            </label>
          ))}
          <div class="check">
            <input type="radio" id="vmid-other" name="vmid" value={otherVm} checked={typed} />
            <div class="field">
              <label for="vmid-other">{text.other}</label>
              <input
                type="text"
                name="other_vmid"
                class="mono"
                inputmode="numeric"
                maxlength={9}
                autocomplete="off"
                value={form.otherVmid}
                aria-label={text.other}
                aria-describedby="other-hint"
              />
              <p class="hint" id="other-hint">
                {text.otherHint(range)}
              </p>
            </div>
          </div>
        </div>
      </fieldset>
    </section>
  );
}

function Server({ view, form, organisations, catalog, networks, problems }: ImportPageProps) {
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
            {/* Acts in the organisation of this form, and goes to its networks. */}
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
      </div>
    </section>
  );
}

function Aside(props: ImportPageProps) {
  const { view, form, organisations, networks, check } = props;
  const text = view.messages.serverImport;
  const organisation = organisations.find(({ id }) => id === form.organisationId);
  const hasSubnet = networks.some(({ region, subnets }) => region === form.region && subnets.length > 0);
  return (
    <aside class="summary" aria-label={text.title}>
      <p class="summary-name mono">{form.name || chosenVmid(form) || "–"}</p>
      <dl>
        <div>
          <dt>{text.vm}</dt>
          <dd class="figures">{chosenVmid(form) || "–"}</dd>
        </div>
        <div>
          <dt>{view.messages.common.region}</dt>
          <dd>{form.region}</dd>
        </div>
        <div>
          <dt>{text.organisation}</dt>
          <dd>{organisation?.name ?? "–"}</dd>
        </div>
      </dl>
      <div>
        <p>
          <strong>{text.what}</strong>
        </p>
        <ol class="steps-told hint">
          {text.steps.map((step) => (
            <li>{step}</li>
          ))}
        </ol>
      </div>
      <div class="check-result" role="status">
        <CheckResult check={check} view={view} />
      </div>
      <button type="submit" class="button" name="intent" value="check" data-size="wide" disabled={!hasSubnet}>
        {text.check}
      </button>
      <button
        type="submit"
        class="button"
        data-kind="primary"
        data-size="wide"
        name="intent"
        value="import"
        disabled={!hasSubnet}
      >
        {text.submit}
      </button>
      {hasSubnet ? null : <p class="why">{text.noSubnets(organisation?.name ?? "–", form.region)}</p>}
    </aside>
  );
}

function CheckResult({ view, check }: { readonly view: View; readonly check: ImportPageProps["check"] }) {
  const text = view.messages.serverImport;
  if (check === null) return null;
  if (check.blockers.length === 0)
    return (
      <>
        <p class="ready">
          <Icon name="check" />
          {text.ready}
        </p>
        <p class="hint">{text.readyHint}</p>
      </>
    );
  return (
    <div class="blockers">
      <p>
        <Icon name="alert" />
        {text.blocked}
      </p>
      <ul>
        {check.blockers.map((blocker) => (
          <li>{blocker}</li>
        ))}
      </ul>
    </div>
  );
}
