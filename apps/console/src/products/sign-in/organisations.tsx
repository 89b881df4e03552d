import type { Schemas } from "@kule/contract/schemas";
import { Hono } from "hono";
import { read } from "../../api.ts";
import { type ConsoleEnv, type ConsoleServices, sessionOf } from "../../console-context.ts";
import { renderPage } from "../../layout/document.tsx";
import { FormSeal, PageHead, Pages } from "../../layout/parts.tsx";
import { Shell } from "../../layout/shell.tsx";
import type { View } from "../../layout/view.ts";

/** Operators choose the organisation that they act in. */
export function organisationRoutes({ cookies }: ConsoleServices): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/organisations", async (context) => {
    const cursor = context.req.query("cursor") || undefined;
    const organisations = await read(
      context.get("api").GET("/organisations", {
        params: { query: { limit: 50, ...(cursor === undefined ? {} : { cursor }) } },
      }),
    );
    return context.html(
      renderPage(
        <OrganisationsPage view={context.get("view")} organisations={organisations} cursor={cursor} />,
      ),
    );
  });

  routes.post("/organisations", async (context) => {
    const chosen = await read(
      context.get("api").GET("/organisations/{organisation_id}", {
        params: { path: { organisation_id: context.get("form").get("organisation_id") ?? "" } },
      }),
    );
    await cookies.writeSession(context, {
      ...sessionOf(context),
      organisation: { id: chosen.id, name: chosen.name },
    });
    return context.redirect("/servers", 303);
  });

  return routes;
}

function OrganisationsPage(props: {
  readonly view: View;
  readonly organisations: Schemas["OrganisationList"];
  readonly cursor: string | undefined;
}) {
  const { view, organisations } = props;
  const { messages, session } = view;
  return (
    <Shell view={view} title={messages.organisations.title}>
      <PageHead title={messages.organisations.title} lead={messages.organisations.lead} />
      <table class="list">
        <thead>
          <tr>
            <th scope="col">{messages.common.name}</th>
            <th scope="col">{messages.common.id}</th>
            <td></td>
          </tr>
        </thead>
        <tbody>
          {organisations.items.map((organisation) => (
            <tr>
              <th scope="row">
                {organisation.name}{" "}
                {organisation.status === "suspended" ? (
                  <span class="tag">{messages.organisations.suspended}</span>
                ) : null}
              </th>
              <td class="mono" data-label={messages.common.id}>
                {organisation.slug}
              </td>
              <td class="row-act">
                {session?.organisation?.id === organisation.id ? (
                  <span class="tag">{messages.organisations.current}</span>
                ) : (
                  <form method="post" action="/organisations">
                    <FormSeal view={view} />
                    <input type="hidden" name="organisation_id" value={organisation.id} />
                    <button
                      type="submit"
                      class="button"
                      aria-label={`${messages.organisations.choose}: ${organisation.name}`}
                    >
                      {messages.organisations.choose}
                    </button>
                  </form>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <Pages
        view={view}
        base="/organisations"
        query={new URLSearchParams()}
        cursor={props.cursor}
        next={organisations.next_cursor}
      />
    </Shell>
  );
}
