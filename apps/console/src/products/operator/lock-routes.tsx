import { Hono } from "hono";
import { attempt, read } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { answersOf } from "../../form-answer.ts";
import { renderPage } from "../../layout/document.tsx";
import { noticeBanner, type PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues } from "../../posted-form.ts";
import type { RefusedForm } from "../../refused-form.ts";
import { LockPage } from "./lock-page.tsx";

/** `/operator/servers/:id/lock`: in the organisation that the operator acts in. */
export function lockRoutes(): Hono<ConsoleEnv> {
  const routes = new Hono<ConsoleEnv>();

  routes.get("/:id/lock", (context) => {
    const { notices } = context.get("view").messages.serverLock;
    return show(context, noticeBanner(context, notices), null, 200);
  });
  routes.get("/:id/unlock", (context) =>
    context.redirect(`/operator/servers/${context.req.param("id")}/lock`, 303),
  );

  routes.post("/:id/lock", async (context) => {
    const values = postedValues(context, ["reason"]);
    const outcome = await attempt(
      context.get("api").POST("/servers/{server_id}/lock", { ...options(context), body: values }),
    );
    return answer(context, {
      outcome,
      notice: "locked",
      of: "lock",
      values,
      errorPlaces: { fields: ["reason"] },
    });
  });

  routes.post("/:id/unlock", async (context) => {
    const outcome = await attempt(
      context.get("api").POST("/servers/{server_id}/unlock", {
        params: {
          ...options(context).params,
          // A key of its own: the form's key is used for the lock.
          header: { "Idempotency-Key": `${postedKey(context)}-off` },
        },
      }),
    );
    return answer(context, { outcome, notice: "unlocked", of: "unlock" });
  });

  return routes;
}

function options(context: ConsoleContext) {
  return {
    params: {
      path: { server_id: context.req.param("id") ?? "" },
      header: { "Idempotency-Key": postedKey(context) },
    },
  };
}

const answer = answersOf((context) => `/operator/servers/${context.req.param("id")}/lock`, show);

async function show(
  context: ConsoleContext,
  banner: PageBanner,
  form: RefusedForm | null,
  status: 200 | 409 | 422,
) {
  const server = await read(
    context.get("api").GET("/servers/{server_id}", {
      params: { path: { server_id: context.req.param("id") ?? "" } },
    }),
  );
  return context.html(
    renderPage(
      <LockPage
        view={context.get("view")}
        server={server}
        form={form}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}
