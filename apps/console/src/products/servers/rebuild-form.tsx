import { ActionButton } from "../../layout/action-button.tsx";
import { ConfirmName } from "../../layout/confirm-name.tsx";
import { Problem } from "../../layout/fields.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { keptForm, problemsOf, refusedForm, typedIn } from "../../refused-form.ts";
import { disabledReason } from "./disabled-reason.ts";
import type { SettingsTabProps } from "./props.ts";

/** In the danger zone: a rebuild deletes everything on the disk. */
export function RebuildRow(props: SettingsTabProps) {
  const { view, server, images, refused, idempotencyKey } = props;
  const texts = view.messages.operations;
  const why = disabledReason(view, server, "rebuild", "server:rebuild");
  const fitting = images.filter(
    ({ packages_allowed, regions }) =>
      packages_allowed.includes(server.package.slug) && regions.includes(server.region),
  );
  const chosen = typedIn(refused, "rebuild", "image", server.image.slug);
  return (
    <form
      class="danger-row"
      id="rebuild"
      method="post"
      action={`/servers/${server.id}/rebuild`}
      {...keptForm(refused, "rebuild")}
    >
      <FormSeal view={view} idempotencyKey={`${idempotencyKey}-rebuild`} />
      <div>
        <h3>{texts.rebuild}</h3>
        <p class="hint">{texts.rebuildHint}</p>
        {why === null ? (
          <>
            <div class="field">
              <label for="rebuild-image">{view.messages.servers.image}</label>
              <select id="rebuild-image" name="image">
                {fitting.map(({ slug, name }) => (
                  <option value={slug} selected={slug === chosen}>
                    {name}
                  </option>
                ))}
              </select>
            </div>
            <KeyChoice {...props} />
            <ConfirmName
              view={view}
              id="rebuild-name"
              name={server.name}
              typed={typedIn(refused, "rebuild", "confirm_name", "")}
              problems={problemsOf(refused, "rebuild").confirm_name}
            />
          </>
        ) : null}
      </div>
      <ActionButton why={why} kind="danger">
        {texts.rebuild}
      </ActionButton>
    </form>
  );
}

/** The server's current keys, or others; without keys it gets a password. */
function KeyChoice({ view, server, sshKeys, refused }: SettingsTabProps) {
  const texts = view.messages.rebuildKeys;
  const form = refusedForm(refused, "rebuild");
  const problems = form?.problems.ssh_key_ids;
  const isChosen = form?.values.keys === "chosen";
  const ticked = isChosen ? (form.values.chosen_keys ?? "").split(" ") : server.ssh_key_ids;
  return (
    <details class="add-inline" id="rebuild-keys" open={isChosen || problems !== undefined}>
      <summary>{texts.title}</summary>
      <fieldset class="choice">
        <legend class="visually-hidden">{texts.title}</legend>
        <Problem name="ssh_key_ids" problems={problems} />
        <div class="checks">
          <label class="check">
            <input type="radio" name="keys" value="kept" checked={!isChosen} />
            <span>{texts.kept}</span>
          </label>
          <label class="check">
            <input type="radio" name="keys" value="chosen" checked={isChosen} />
            <span>
              {texts.chosen}
              <small>{texts.chosenHint}</small>
            </span>
          </label>
          {sshKeys.map(({ id, name, fingerprint_sha256 }) => (
            <label class="check">
              <input
                type="checkbox"
                id={`rebuild-${id}`}
                name="ssh_key_ids"
                value={id}
                checked={ticked.includes(id)}
              />
              <span>
                <strong>{name}</strong>
                <small class="mono">{fingerprint_sha256}</small>
              </span>
            </label>
          ))}
        </div>
      </fieldset>
    </details>
  );
}
