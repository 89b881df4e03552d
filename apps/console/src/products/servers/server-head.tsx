import { ActButton, notAllowed, Offered } from "../../layout/act-button.tsx";
import { TextField } from "../../layout/fields.tsx";
import { Icon } from "../../layout/icons.tsx";
import { FormSeal, Status } from "../../layout/parts.tsx";
import { keptForm, problemsOf, typedIn } from "../../refused-form.ts";
import { OpenConsole } from "../consoles/open-console.tsx";
import { PowerMenu } from "./power-menu.tsx";
import { serverTone } from "./server-status.ts";
import type { ShowPageProps } from "./show-page.tsx";
import { whyNot } from "./why-not.ts";

/** Name and state, and the acts that are wanted most. */
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

/** In place: beside the name it changes. */
function Rename({ view, server, refused, idempotencyKey }: ShowPageProps) {
  const texts = view.messages.operations;
  const why = whyNot(view, server, "rename", "server:update");
  return (
    <details class="rename" id="rename" open={refused?.of === "rename"}>
      <summary>
        <Icon name="pencil" size={15} />
        {texts.rename}
      </summary>
      <form
        class="form"
        method="post"
        action={`/servers/${server.id}/rename`}
        {...keptForm(refused, "rename")}
      >
        <FormSeal view={view} idempotencyKey={`${idempotencyKey}-rename`} />
        <TextField
          view={view}
          name="name"
          label={texts.newName}
          value={typedIn(refused, "rename", "name", server.name)}
          hint={texts.renameHint}
          problems={problemsOf(refused, "rename")}
          autofocus={refused?.of === "rename"}
          required
          mono
          maxlength={63}
        />
        <ActButton why={why} kind="primary">
          {texts.rename}
        </ActButton>
      </form>
    </details>
  );
}
