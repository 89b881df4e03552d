import { Problem, SelectField, TextField } from "../../layout/fields.tsx";
import { Icon } from "../../layout/icons.tsx";
import { LabelsField } from "../../layout/more-fields.tsx";
import type { View } from "../../layout/view.ts";
import { may } from "../../session.ts";
import { takesSshKeys } from "./create-values.ts";
import type { CreatePageProps } from "./props.ts";

const nameRules = ["characters", "letter", "edges", "length"] as const;

export function NameChoice({ view, form, problems, isOpened }: CreatePageProps) {
  const { messages } = view;
  return (
    <TextField
      view={view}
      name="name"
      label={messages.create.name}
      value={form.name}
      hint={messages.create.nameHint}
      problems={problems}
      required
      autofocus={isOpened}
      maxlength={63}
      mono
      attributes={{ "data-rules": "name-rules", placeholder: "web-1" }}
    >
      <ul class="rules" id="name-rules">
        {nameRules.map((rule) => (
          <li data-rule={rule} data-state="open">
            <Icon name="dot" size={14} />
            <Icon name="check" size={14} />
            <Icon name="cross" size={14} />
            {messages.create.rules[rule]}
          </li>
        ))}
      </ul>
    </TextField>
  );
}

export function AccessChoice({ view, catalog, form, sshKeys, problems }: CreatePageProps) {
  const { messages, session } = view;
  if (!takesSshKeys(catalog, form))
    return (
      <fieldset class="choice" id="access">
        <legend>{messages.create.access}</legend>
        <p class="hint">{form.start ? messages.create.accessWindows : messages.create.accessWindowsOff}</p>
        <Problem name="ssh_key_ids" problems={problems.ssh_key_ids} />
      </fieldset>
    );
  const adding = form.newKeyName !== "" || form.newKeyText !== "" || problems.new_key_text !== undefined;
  return (
    <fieldset class="choice" id="access">
      <legend>{messages.create.access}</legend>
      <p class="hint">{messages.create.accessHint}</p>
      <Problem name="ssh_key_ids" problems={problems.ssh_key_ids} />
      {sshKeys.length === 0 ? <p class="hint">{messages.create.noKeysYet}</p> : null}
      <div class="checks">
        {sshKeys.map((key) => (
          <label class="check">
            <input
              type="checkbox"
              id={`key-${key.id}`}
              name="ssh_key_ids"
              value={key.id}
              checked={form.sshKeyIds.includes(key.id)}
            />
            <span>
              <strong>{key.name}</strong>
              <small class="mono">{key.fingerprint_sha256}</small>
            </span>
          </label>
        ))}
      </div>
      {session !== null && may(session, "ssh_key:create") ? (
        <details class="add-inline" id="add-key" open={adding}>
          <summary>
            <Icon name="plus" size={16} />
            {messages.create.addKey}
          </summary>
          <TextField
            view={view}
            name="new_key_name"
            label={messages.create.keyName}
            value={form.newKeyName}
            problems={problems}
            maxlength={100}
          />
          <TextField
            view={view}
            name="new_key_text"
            label={messages.create.keyText}
            value={form.newKeyText}
            hint={messages.create.keyTextHint}
            problems={problems}
            rows={3}
            mono
            maxlength={16384}
          />
          <button type="submit" name="intent" value="add-key" class="button" formnovalidate>
            {messages.create.addKeySubmit}
          </button>
        </details>
      ) : null}
    </fieldset>
  );
}

export function NetworkChoice({ view, form, networks, problems }: CreatePageProps) {
  const { messages } = view;
  const inRegion = networks.filter(({ region }) => region === form.region);
  const here = inRegion.filter(({ subnets }) => subnets.length > 0);
  return (
    <div class="field" data-invalid={problems.subnet_id === undefined ? undefined : "true"}>
      <label for="field-subnet_id">{messages.create.network}</label>
      <select
        id="field-subnet_id"
        name="subnet_id"
        aria-describedby={problems.subnet_id === undefined ? undefined : "subnet_id-problem"}
      >
        <option value="" selected={form.subnetId === ""}>
          {unnamedSubnetText(view, inRegion)}
        </option>
        {here.map((network) => (
          <optgroup label={network.name}>
            {network.subnets.map((subnet) => (
              <option value={subnet.id} selected={form.subnetId === subnet.id}>
                {messages.create.subnetOption(subnet.name, subnet.cidr, messages.networks.tiers[subnet.tier])}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
      <Problem name="subnet_id" problems={problems.subnet_id} />
    </div>
  );
}

/** Where the API puts a server whose request names no subnet; with several and no default, it requires one. */
function unnamedSubnetText({ messages }: View, inRegion: CreatePageProps["networks"]): string {
  const { networkDefault, networkOnly, networkMissing } = messages.create;
  const hasDefault = inRegion.some(
    ({ is_default, subnets }) => is_default && subnets.some(({ name }) => name === "app"),
  );
  if (inRegion.length === 0 || hasDefault) return networkDefault;
  return inRegion.flatMap(({ subnets }) => subnets).length === 1 ? networkOnly : networkMissing;
}

/** None, a new one, or one that the organisation has reserved and not attached. */
export function PublicIpChoice({ view, form, publicIps, problems }: CreatePageProps) {
  const text = view.messages.publicIps.ofNewServer;
  const free = publicIps.filter(
    ({ region, version, status }) => region === form.region && version === 4 && status === "free",
  );
  return (
    <SelectField
      id="public_ip"
      name="public_ip"
      label={text.label}
      value={form.publicIp}
      options={[
        { value: "", label: text.none },
        { value: "auto", label: text.any },
        ...free.map(({ id, address }) => ({ value: id, label: address })),
      ]}
      hint={text.hint}
      problems={problems}
    />
  );
}

export function AdvancedChoice({ view, form, problems }: CreatePageProps) {
  const { messages } = view;
  const used =
    form.privateIp !== "" ||
    form.labels !== "" ||
    !form.start ||
    form.protect ||
    form.protectRebuild ||
    problems.private_ip !== undefined;
  return (
    <details class="add-inline" id="advanced" open={used}>
      <summary>
        <Icon name="plus" size={16} />
        {messages.common.more}
      </summary>
      <TextField
        view={view}
        name="private_ip"
        label={messages.create.privateIp}
        value={form.privateIp}
        hint={messages.create.privateIpHint}
        problems={problems}
        optional
        mono
        maxlength={15}
      />
      <LabelsField view={view} value={form.labels} problems={problems} />
      <label class="check">
        <input type="checkbox" id="start" name="start" checked={form.start} />
        <span>{messages.create.start}</span>
      </label>
      <label class="check">
        <input type="checkbox" id="protect" name="protect" checked={form.protect} />
        <span>{messages.create.protect}</span>
      </label>
      <label class="check">
        <input type="checkbox" id="protect_rebuild" name="protect_rebuild" checked={form.protectRebuild} />
        <span>{messages.create.protectRebuild}</span>
      </label>
    </details>
  );
}
