import { ActButton } from "../../layout/act-button.tsx";
import { ConfirmName } from "../../layout/confirm-name.tsx";
import { FormSeal } from "../../layout/parts.tsx";
import { keptForm, problemsOf, typedIn } from "../../refused-form.ts";
import type { ShowPageProps } from "./show-page.tsx";
import { whyNot } from "./why-not.ts";

/** A new password for the image's user: at once, or from the next start. */
export function PasswordPanel({ view, server, idempotencyKey }: ShowPageProps) {
  const texts = view.messages.operations;
  const why = whyNot(view, server, "password_reset", "server:password_reset");
  const now = server.actions.password_reset_now;
  const when = now.allowed ? "now" : "next_boot";
  const isRunning = server.status === "running";
  return (
    <section class="panel" id="password-reset" aria-labelledby="password-title">
      <form class="danger-row" method="post" action={`/servers/${server.id}/password-reset`}>
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-password`} />
        <div>
          <h2 id="password-title">{texts.passwordTitle}</h2>
          <p class="hint">{texts.passwordHints[isRunning && when === "next_boot" ? "no_agent" : when]}</p>
          {why === null && when === "now" && server.guest?.agent === false ? (
            <p class="hint">{texts.agentSilent}</p>
          ) : null}
        </div>
        <div class="act-group">
          <ActButton why={why} name="when" value={when}>
            {when === "now" ? texts.passwordNow : texts.passwordNextBoot}
          </ActButton>
          {why === null && when === "now" ? (
            <button type="submit" class="button" name="when" value="next_boot">
              {texts.passwordNextBoot}
            </button>
          ) : null}
        </div>
      </form>
    </section>
  );
}

/** In the danger zone: everything on the disk is lost. */
export function RebuildRow({ view, server, catalog, refused, idempotencyKey }: ShowPageProps) {
  const texts = view.messages.operations;
  const why = whyNot(view, server, "rebuild", "server:rebuild");
  const fitting = catalog.images.filter(
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
      <ActButton why={why} kind="danger">
        {texts.rebuild}
      </ActButton>
    </form>
  );
}
