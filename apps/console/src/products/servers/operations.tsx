import type { Schemas } from "@kule/contract/schemas";
import { FormSeal } from "../../layout/parts.tsx";
import { ActButton, whyNot } from "./act-button.tsx";
import type { ShowPageProps } from "./show-page.tsx";

const powerActions = ["start", "shutdown", "reboot", "stop", "reset"] as const;

/** The power buttons; what makes no sense now is grey and says why. */
export function PowerPanel({ view, server, idempotencyKey }: ShowPageProps) {
  if (server.deletion !== null) return null;
  const texts = view.messages.operations;
  return (
    <section class="panel" aria-labelledby="power-title">
      <div class="panel-head">
        <h2 id="power-title">{texts.power}</h2>
      </div>
      {powerActions.map((action) => {
        const why = whyNot(view, server.actions[action], "server:update");
        const asks = action === "shutdown" || action === "reboot";
        return (
          <form class="danger-row" method="post" action={`/servers/${server.id}/power`}>
            <FormSeal view={view} idempotencyKey={`${idempotencyKey}-${action}`} />
            <div>
              <h3>{texts.actions[action]}</h3>
              <p class="hint">{texts.actionHints[action]}</p>
              {asks && why === null ? (
                <label>
                  <input type="checkbox" name="force_after" value="true" /> {texts.force}
                </label>
              ) : null}
            </div>
            <ActButton why={why} name="action" value={action}>
              {texts.actions[action]}
            </ActButton>
          </form>
        );
      })}
    </section>
  );
}

/** Size, name and password: what changes a server and loses nothing. */
export function SettingsPanel(props: ShowPageProps & { readonly catalog: Schemas["Catalog"] }) {
  if (props.server.deletion !== null) return null;
  return (
    <section class="panel" aria-labelledby="settings-title">
      <div class="panel-head">
        <h2 id="settings-title">{props.view.messages.operations.settings}</h2>
      </div>
      <ResizeRow {...props} />
      <RenameRow {...props} />
      <PasswordRow {...props} />
    </section>
  );
}

function ResizeRow({
  view,
  server,
  catalog,
  idempotencyKey,
}: ShowPageProps & { readonly catalog: Schemas["Catalog"] }) {
  const { messages, format } = view;
  const texts = messages.operations;
  const image = catalog.images.find(({ slug }) => slug === server.image.slug);
  const why = whyNot(view, server.actions.resize, "server:update");
  return (
    <form class="danger-row" method="post" action={`/servers/${server.id}/resize`}>
      <FormSeal view={view} idempotencyKey={`${idempotencyKey}-resize`} />
      <div>
        <h3>{texts.resize}</h3>
        <p class="hint">{server.status === "running" ? texts.resizeRestart : texts.resizeStopped}</p>
        <fieldset class="choices" disabled={why !== null}>
          <legend>{messages.create.package}</legend>
          <div class="cards" data-size="small">
            {catalog.packages.map((offered) => {
              const fits = image === undefined || image.packages_allowed.includes(offered.slug);
              return (
                <label class="card">
                  <input
                    type="radio"
                    name="package"
                    value={offered.slug}
                    checked={offered.slug === server.package.slug}
                    disabled={!fits}
                  />
                  <span class="card-face">
                    <span class="card-size">{offered.slug.toUpperCase()}</span>
                    <strong class="figures">{messages.create.vcpu(format.number(offered.vcpu))}</strong>
                    <span class="figures">{format.memory(offered.memory_mb)}</span>
                    <span class="figures">{format.disk(Math.max(offered.disk_gb, server.disk_gb))}</span>
                    {offered.disk_gb < server.disk_gb ? <span class="why">{texts.diskKept}</span> : null}
                    {fits ? null : <span class="why">{texts.tooSmall}</span>}
                  </span>
                </label>
              );
            })}
          </div>
        </fieldset>
        <label>
          <input type="checkbox" name="keep_disk" value="true" disabled={why !== null} /> {texts.keepDisk}
        </label>
      </div>
      <ActButton why={why} kind="primary">
        {server.status === "running" ? texts.resizeAndRestart : texts.resize}
      </ActButton>
    </form>
  );
}

function RenameRow({ view, server, idempotencyKey }: ShowPageProps) {
  const texts = view.messages.operations;
  const why = whyNot(view, server.actions.rename, "server:update");
  return (
    <form class="danger-row" method="post" action={`/servers/${server.id}/rename`}>
      <FormSeal view={view} idempotencyKey={`${idempotencyKey}-rename`} />
      <div>
        <h3>{texts.rename}</h3>
        <p class="hint">{texts.renameHint}</p>
        <div class="field">
          <label for="new-name">{texts.newName}</label>
          <input
            id="new-name"
            class="mono"
            type="text"
            name="name"
            value={server.name}
            maxlength={63}
            required
            disabled={why !== null}
          />
        </div>
      </div>
      <ActButton why={why}>{texts.rename}</ActButton>
    </form>
  );
}

function PasswordRow({ view, server, idempotencyKey }: ShowPageProps) {
  const texts = view.messages.operations;
  const why = whyNot(view, server.actions.password_reset, "server:password_reset");
  const when = server.status === "running" ? "now" : "next_boot";
  return (
    <form class="danger-row" method="post" action={`/servers/${server.id}/password-reset`}>
      <FormSeal view={view} idempotencyKey={`${idempotencyKey}-password`} />
      <div>
        <h3>{texts.password}</h3>
        <p class="hint">{texts.passwordHints[when]}</p>
      </div>
      <ActButton why={why} name="when" value={when}>
        {texts.password}
      </ActButton>
    </form>
  );
}

/** In the danger zone: everything on the disk is lost. */
export function RebuildRow({
  view,
  server,
  catalog,
  idempotencyKey,
}: ShowPageProps & { readonly catalog: Schemas["Catalog"] }) {
  const texts = view.messages.operations;
  const why = whyNot(view, server.actions.rebuild, "server:rebuild");
  const fitting = catalog.images.filter(({ packages_allowed }) =>
    packages_allowed.includes(server.package.slug),
  );
  return (
    <form class="danger-row" method="post" action={`/servers/${server.id}/rebuild`}>
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
                  <option value={slug} selected={slug === server.image.slug}>
                    {name}
                  </option>
                ))}
              </select>
            </div>
            <div class="field">
              <label for="rebuild-name">{view.messages.servers.deleteConfirm(server.name)}</label>
              <input
                id="rebuild-name"
                class="mono"
                type="text"
                name="confirm_name"
                autocomplete="off"
                autocapitalize="none"
                spellcheck={false}
                data-confirm={server.name}
                required
              />
            </div>
          </>
        ) : null}
      </div>
      <ActButton why={why} kind="danger">
        {texts.rebuild}
      </ActButton>
    </form>
  );
}
