import { ActionButton, notAllowed, Offered } from "../../layout/action-button.tsx";
import { TextField } from "../../layout/fields.tsx";
import { Icon } from "../../layout/icons.tsx";
import { FormSeal, Status } from "../../layout/parts.tsx";
import { keptForm, problemsOf, typedIn } from "../../refused-form.ts";
import { pageOf } from "../../resources/resource.ts";
import { OpenConsole } from "../consoles/open-part.tsx";
import { disabledReason } from "./disabled-reason.ts";
import { PowerMenu } from "./power-menu-part.tsx";
import type { ShowPageProps } from "./props.ts";
import { servers } from "./resource.ts";
import { serverTone } from "./status.ts";

/** Name and status, and the most common actions. */
export function ServerHead(props: ShowPageProps) {
  const { view, server } = props;
  const { messages } = view;
  const mayUpdate = server.deletion === null && notAllowed(view, "server:update") === null;
  const region = props.catalog.regions.find(({ slug }) => slug === server.region);
  return (
    <div class="page-head server-head">
      <div>
        <div class="title-line">
          <h1>{server.name}</h1>
          <Status tone={serverTone(server.status)}>
            {messages.servers.status[server.status] ?? server.status}
          </Status>
        </div>
        <p class="lead">{`${server.image.name} · ${region?.name ?? server.region}`}</p>
      </div>
      <div class="page-acts">
        <Offered view={view} permission="server:console">
          <OpenConsole view={view} server={server} />
        </Offered>
        {view.session?.operator === true ? (
          <a class="button" href={`/operator/servers/${server.id}/lock`}>
            {messages.serverLock.link}
          </a>
        ) : null}
        {mayUpdate ? (
          <a class="button" href={`/servers/${server.id}/resize`}>
            {messages.operations.resize}
          </a>
        ) : null}
        {mayUpdate ? <PowerMenu {...props} /> : null}
      </div>
      {mayUpdate ? <Rename {...props} /> : null}
    </div>
  );
}

/** Edited in place, beside the name. */
function Rename({ view, server, refused, idempotencyKey }: ShowPageProps) {
  const texts = view.messages.operations;
  const why = disabledReason(view, server, "rename", "server:update");
  return (
    <details class="rename" id="rename" open={refused?.of === "settings"}>
      <summary>
        <Icon name="pencil" size={15} />
        {texts.rename}
      </summary>
      <form
        class="form"
        method="post"
        action={`${pageOf(servers, server)}/settings`}
        {...keptForm(refused, "settings")}
      >
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-settings`} />
        <TextField
          view={view}
          name="name"
          label={texts.newName}
          value={typedIn(refused, "settings", "name", server.name)}
          hint={texts.renameHint}
          problems={problemsOf(refused, "settings")}
          autofocus={refused?.of === "settings"}
          required
          mono
          maxlength={63}
        />
        <ActionButton why={why} kind="primary">
          {texts.rename}
        </ActionButton>
      </form>
    </details>
  );
}
