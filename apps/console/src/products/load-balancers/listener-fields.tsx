import type { Schemas } from "@kule/contract/schemas";
import type { Child } from "hono/jsx";
import { type FieldProblems, Problem, SelectField, TextField } from "../../layout/fields.tsx";
import { Icon } from "../../layout/icons.tsx";
import type { View } from "../../layout/view.ts";
import { CertificateFields } from "./certificate-fields.tsx";
import {
  checkProtocols,
  type ListenerValues,
  newListener,
  protocols,
  proxyProtocols,
} from "./listener-values.ts";

type Props = {
  readonly view: View;
  readonly values: ListenerValues;
  readonly problems: FieldProblems;
};

/** What of a listener everybody chooses. The stylesheet shows only the fields of the chosen protocol. */
export function ListenerFields(
  props: Props & { readonly certificates: readonly Schemas["Certificate"][]; readonly region: string },
) {
  const { view, values, problems, certificates, region } = props;
  const text = view.messages.loadBalancers.listener;
  return (
    <>
      <SelectField
        name="protocol"
        label={text.protocol}
        value={values.protocol}
        options={protocols.map((value) => ({ value, label: text.protocols[value] }))}
        problems={problems}
      />
      <div class="field-pair">
        <NumberField
          view={view}
          name="port"
          label={text.port}
          values={values}
          problems={problems}
          placeholder="443"
        />
        <NumberField
          view={view}
          name="target_port"
          label={text.targetPort}
          values={values}
          problems={problems}
          hint={text.targetPortHint}
          optional
        />
      </div>
      <div data-of="https">
        <CertificateFields
          view={view}
          value={values.certificate_ids}
          certificates={certificates}
          region={region}
          problems={problems}
        />
      </div>
      <div data-of="http">
        <Check
          name="redirect_to_https"
          label={text.redirect}
          hint={text.redirectHint}
          values={values}
          problems={problems}
        />
      </div>
    </>
  );
}

/** How targets are checked. */
export function HealthCheckFields(props: Props) {
  const { view, values, problems } = props;
  const text = view.messages.loadBalancers.check;
  return (
    <fieldset class="choice">
      <legend>{text.title}</legend>
      <p class="hint">{text.lead}</p>
      <SelectField
        name="check_protocol"
        label={text.protocol}
        value={values.check_protocol}
        options={checkProtocols.map((value) => ({ value, label: text.protocols[value] }))}
        problems={problems}
      />
      <div class="http-check fields">
        <TextField
          view={view}
          name="path"
          label={text.path}
          value={values.path}
          problems={problems}
          optional
          mono
          maxlength={200}
          attributes={{ placeholder: "/" }}
        />
        <div class="field-pair">
          <TextField
            view={view}
            name="host"
            label={text.host}
            value={values.host}
            hint={text.hostHint}
            problems={problems}
            optional
            mono
            maxlength={253}
          />
          <TextField
            view={view}
            name="expected_codes"
            label={text.codes}
            value={values.expected_codes}
            hint={text.codesHint}
            problems={problems}
            optional
            mono
            maxlength={100}
            attributes={{ placeholder: "200-399" }}
          />
        </div>
      </div>
      <Details id="check-times" label={text.times} isOpen={isChanged(props, checkTimes)}>
        <div class="field-pair">
          <NumberField {...props} name="interval_seconds" label={text.interval} hint={text.seconds} />
          <NumberField {...props} name="timeout_seconds" label={text.timeout} hint={text.timeoutHint} />
          <NumberField {...props} name="healthy_threshold" label={text.healthy} hint={text.healthyHint} />
          <NumberField
            {...props}
            name="unhealthy_threshold"
            label={text.unhealthy}
            hint={text.unhealthyHint}
          />
        </div>
        <NumberField {...props} name="check_port" label={text.port} hint={text.portHint} optional />
      </Details>
    </fieldset>
  );
}

const checkTimes = [
  "interval_seconds",
  "timeout_seconds",
  "healthy_threshold",
  "unhealthy_threshold",
  "check_port",
] as const;
const rare = [
  "sticky",
  "cookie_name",
  "ttl_seconds",
  "proxy_protocol",
  "idle_timeout_seconds",
  "allowed_cidrs",
] as const;

/** What most listeners leave at its defaults. */
export function MoreListenerFields(props: Props) {
  const { view, values, problems } = props;
  const { common, loadBalancers } = view.messages;
  const text = loadBalancers.listener;
  return (
    <Details id="more-listener" label={common.more} isOpen={isChanged(props, rare)}>
      <div data-of="http https" class="listener-part">
        <Check name="sticky" label={text.sticky} hint={text.stickyHint} values={values} problems={problems} />
        <div class="field-pair of-sticky">
          <TextField
            view={view}
            name="cookie_name"
            label={text.cookie}
            value={values.cookie_name}
            problems={problems}
            mono
            maxlength={64}
          />
          <NumberField {...props} name="ttl_seconds" label={text.ttl} hint={text.ttlHint} optional />
        </div>
      </div>
      <SelectField
        name="proxy_protocol"
        label={text.proxy}
        value={values.proxy_protocol}
        options={proxyProtocols.map((value) => ({ value, label: text.proxies[value] }))}
        hint={text.proxyHint}
        problems={problems}
      />
      <NumberField {...props} name="idle_timeout_seconds" label={text.idle} hint={text.idleHint} />
      <TextField
        view={view}
        name="allowed_cidrs"
        label={text.cidrs}
        value={values.allowed_cidrs}
        hint={text.cidrsHint}
        problems={problems}
        optional
        mono
        rows={3}
        attributes={{ placeholder: "192.0.2.0/24" }}
      />
    </Details>
  );
}

/** Whether one of the fields was refused or differs from a new listener's. */
function isChanged({ values, problems }: Props, names: readonly (keyof ListenerValues)[]): boolean {
  return names.some((name) => values[name] !== newListener[name] || problems[name] !== undefined);
}

function NumberField(
  props: Props & {
    readonly name: keyof ListenerValues;
    readonly label: string;
    readonly hint?: string;
    readonly placeholder?: string;
    readonly optional?: true;
  },
) {
  const { name, values, placeholder, ...field } = props;
  return (
    <TextField
      {...field}
      name={name}
      value={values[name]}
      required={props.optional !== true}
      mono
      maxlength={7}
      attributes={{ inputmode: "numeric", ...(placeholder === undefined ? {} : { placeholder }) }}
    />
  );
}

function Check(
  props: Pick<Props, "values" | "problems"> & {
    readonly name: keyof ListenerValues;
    readonly label: string;
    readonly hint: string;
  },
) {
  const { name, label, hint, values, problems } = props;
  return (
    <>
      <label class="check">
        <input type="checkbox" name={name} checked={values[name] !== ""} />
        <span>
          <strong>{label}</strong>
          <small>{hint}</small>
        </span>
      </label>
      <Problem name={name} problems={problems[name]} />
    </>
  );
}

function Details(props: {
  readonly id: string;
  readonly label: string;
  readonly isOpen: boolean;
  readonly children?: Child;
}) {
  return (
    <details class="add-inline" id={props.id} open={props.isOpen}>
      <summary>
        <Icon name="plus" size={16} />
        {props.label}
      </summary>
      {props.children}
    </details>
  );
}
