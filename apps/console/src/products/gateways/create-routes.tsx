import type { Hono } from "hono";
import { attempt, read, readAll } from "../../api.ts";
import type { ConsoleContext, ConsoleEnv } from "../../console-context.ts";
import { forbidden } from "../../failures.tsx";
import { labelErrorText, typedLabels } from "../../label-form.ts";
import { renderPage } from "../../layout/document.tsx";
import type { PageBanner } from "../../page-banner.ts";
import { postedKey, postedValues } from "../../posted-form.ts";
import { type RefusedForm, refuseForm } from "../../refused-form.ts";
import { may } from "../../session.ts";
import { ChooseNetworkPage, CreateGatewayPage } from "./create-page.tsx";

const fields = ["network_id", "name", "public_ip", "address", "description", "labels"] as const;

/** `/gateways/new`: the form of a gateway for the network that the address names, or the choice of a network. */
export function createGatewayRoutes(routes: Hono<ConsoleEnv>): void {
  routes.get("/gateways/new", (context) => {
    const { session } = context.get("view");
    if (session !== null && !may(session, "gateway:create")) return forbidden(context, []);
    const network = context.req.query("network") ?? "";
    return network === "" ? showChoice(context) : show(context, network, null, null, null, 200);
  });

  routes.post("/gateways/new", async (context) => {
    const values = postedValues(context, fields);
    const chosen = context.get("form").getAll("subnet_ids");
    const { public_ip, address, description } = values;
    const outcome = await attempt(
      context.get("api").POST("/gateways", {
        params: { header: { "Idempotency-Key": postedKey(context) } },
        body: {
          name: values.name,
          network_id: values.network_id,
          subnet_ids: chosen,
          ...(public_ip === "" ? {} : { public_ip }),
          ...(address === "" ? {} : { address }),
          ...(description === "" ? {} : { description }),
          ...typedLabels(values.labels),
        },
      }),
    );
    if (outcome.kind === "done")
      return context.redirect(`/gateways/${outcome.data.gateway.id}?notice=created`, 303);
    const { form, banner, status } = refuseForm(context, outcome, "gateway", values, {
      fields: ["labels", "name", "public_ip", "address", "description", "subnet_ids"],
      conflicts: {
        name_taken: "name",
        no_public_ip_available: address === "" ? "public_ip" : "address",
        tier_forbids_egress: "subnet_ids",
      },
      said: { labels: labelErrorText(values.labels, context.get("view").messages) },
    });
    return show(context, values.network_id, chosen, form, banner, status);
  });
}

async function showChoice(context: ConsoleContext) {
  const api = context.get("api");
  const [networks, gateways] = await Promise.all([
    readAll((page) => api.GET("/networks", { params: { query: page } })),
    readAll((page) => api.GET("/gateways", { params: { query: page } })),
  ]);
  // A network has at most one gateway.
  const without = networks.items.filter(({ id }) =>
    gateways.items.every(({ network_id }) => network_id !== id),
  );
  return context.html(
    renderPage(
      <ChooseNetworkPage
        view={context.get("view")}
        hasNetworks={networks.items.length > 0}
        without={without}
      />,
    ),
  );
}

async function show(
  context: ConsoleContext,
  networkId: string,
  chosen: readonly string[] | null,
  form: RefusedForm | null,
  banner: PageBanner,
  status: 200 | 409 | 422,
) {
  const api = context.get("api");
  const [network, publicIps] = await Promise.all([
    read(api.GET("/networks/{network_id}", { params: { path: { network_id: networkId } } })),
    readAll((page) => api.GET("/public-ips", { params: { query: page } })),
  ]);
  const free = publicIps.items.filter(
    (ip) => ip.region === network.region && ip.version === 4 && ip.status === "free",
  );
  return context.html(
    renderPage(
      <CreateGatewayPage
        view={context.get("view")}
        network={network}
        addresses={free}
        chosen={chosen ?? network.subnets.filter(({ tier }) => tier === "app").map(({ id }) => id)}
        form={form}
        banner={banner}
        idempotencyKey={crypto.randomUUID()}
      />,
    ),
    status,
  );
}
