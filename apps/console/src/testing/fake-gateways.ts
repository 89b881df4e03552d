import type { Schemas } from "@kule/contract/schemas";
import { relabelled } from "./fake-labels.ts";
import type { Operation } from "./fake-operation.ts";
import { narrowedPage, page } from "./fake-page.ts";
import { fakeId, fakeJob } from "./fake-records.ts";
import type { FakeState } from "./fake-state.ts";

type Gateway = Schemas["Gateway"];

const may = { allowed: true, code: null, reason: null } as const;

/** A gateway whose edge has applied its whole configuration. */
export function fakeGateway(
  name: string,
  network: Schemas["Network"],
  subnetIds: readonly string[],
  address: string,
): Gateway {
  const now = new Date().toISOString();
  return {
    id: fakeId("gw"),
    name,
    region: network.region,
    network_id: network.id,
    description: "",
    status: "active",
    status_reason: null,
    public_ip: { id: fakeId("ip"), address },
    subnets: network.subnets
      .filter(({ id }) => subnetIds.includes(id))
      .map(({ id, name: subnet, cidr }) => ({ subnet_id: id, name: subnet, cidr, status: "ready" })),
    port_forwards: 0,
    labels: {},
    actions: { attach_subnet: may, forward_port: may, delete: may },
    job_id: null,
    generation: 1,
    observed_generation: 1,
    created_at: now,
    updated_at: now,
  };
}

/** Gateways with the API's behaviour. Changes stay pending at the edge until a test completes them. */
export function registerGateways(operation: Operation, state: FakeState): void {
  const find = (id: string | undefined) => state.gateways.find((gateway) => gateway.id === id);
  const told = (gateway: Gateway, change: Partial<Gateway>, token: string) => {
    const job = fakeJob("NetworkApply", gateway.network_id, state.userOf(token).name);
    job.resource = { type: "network", id: gateway.network_id, name: null };
    state.jobs.unshift(job);
    const forwards = state.portForwards.filter(({ gateway_id }) => gateway_id === gateway.id);
    const delete_ =
      forwards.length === 0
        ? may
        : { allowed: false, code: "in_use" as const, reason: "The gateway forwards tcp 443" };
    Object.assign(gateway, { status: "updating", job_id: job.id } satisfies Partial<Gateway>, change, {
      generation: gateway.generation + 1,
      port_forwards: forwards.length,
      actions: { ...gateway.actions, delete: delete_ },
    });
    return { gateway, job };
  };
  const absent = "There is no such gateway";

  operation("get", "/gateways", "listGateways", ({ query, fail }) =>
    narrowedPage(state.gateways, query, fail),
  );
  operation<Schemas["GatewayCreate"]>("post", "/gateways", "createGateway", ({ body, fail, token }) => {
    const network = state.networks.find(({ id }) => id === body.network_id);
    if (network === undefined) return fail(404, "not_found", "There is no such network");
    if (state.gateways.some(({ name }) => name === body.name))
      return fail(409, "name_taken", `region ist1 has a gateway named ${body.name}`);
    if (network.subnets.some(({ id, tier }) => tier === "data" && body.subnet_ids?.includes(id)))
      return fail(409, "tier_forbids_egress", "A data subnet never reaches the internet");
    const brought = state.publicIps.find(({ id }) => id === body.public_ip);
    const address = brought?.address ?? body.address ?? "203.0.113.77";
    const gateway = fakeGateway(body.name, network, body.subnet_ids ?? [], address);
    Object.assign(gateway, { labels: body.labels ?? {}, description: body.description ?? "" });
    state.gateways.push(gateway);
    return { status: 202, body: told(gateway, { status: "provisioning" }, token) };
  });
  operation("get", "/gateways/:gateway_id", "getGateway", ({ params, fail }) => {
    const gateway = find(params.gateway_id);
    return gateway === undefined ? fail(404, "not_found", absent) : { status: 200, body: gateway };
  });
  operation<Schemas["GatewayUpdate"]>(
    "patch",
    "/gateways/:gateway_id",
    "updateGateway",
    ({ params, body, fail }) => {
      const gateway = find(params.gateway_id);
      if (gateway === undefined) return fail(404, "not_found", absent);
      return relabelled(gateway, body, fail, () => ({ status: 200, body: { gateway, job: null } }));
    },
  );
  operation("delete", "/gateways/:gateway_id", "deleteGateway", ({ params, fail, token }) => {
    const gateway = find(params.gateway_id);
    if (gateway === undefined) return fail(404, "not_found", absent);
    if (!gateway.actions.delete.allowed) return fail(409, "in_use", "The gateway forwards tcp 443");
    return { status: 202, body: told(gateway, { status: "deleting" }, token) };
  });
  operation<Schemas["GatewayAttach"]>(
    "post",
    "/gateways/:gateway_id/subnets",
    "attachGatewaySubnet",
    ({ params, body, fail, token }) => {
      const gateway = find(params.gateway_id);
      const subnet = state.subnets.find(({ id }) => id === body.subnet_id);
      if (gateway === undefined || subnet === undefined) return fail(404, "not_found", absent);
      if (subnet.tier === "data")
        return fail(409, "tier_forbids_egress", "A data subnet never reaches the internet");
      const served = {
        subnet_id: subnet.id,
        name: subnet.name,
        cidr: subnet.cidr,
        status: "attaching",
      } as const;
      return { status: 202, body: told(gateway, { subnets: [...gateway.subnets, served] }, token) };
    },
  );
  operation(
    "delete",
    "/gateways/:gateway_id/subnets/:subnet_id",
    "detachGatewaySubnet",
    ({ params, fail, token }) => {
      const gateway = find(params.gateway_id);
      if (gateway === undefined) return fail(404, "not_found", absent);
      const subnets = gateway.subnets.map((served) =>
        served.subnet_id === params.subnet_id ? { ...served, status: "detaching" as const } : served,
      );
      return { status: 202, body: told(gateway, { subnets }, token) };
    },
  );
  operation("get", "/gateways/:gateway_id/port-forwards", "listPortForwards", ({ params, query }) =>
    page(
      state.portForwards.filter(({ gateway_id }) => gateway_id === params.gateway_id),
      query,
    ),
  );
  operation<Schemas["PortForwardCreate"]>(
    "post",
    "/gateways/:gateway_id/port-forwards",
    "createPortForward",
    ({ params, body, fail, token }) => {
      const gateway = find(params.gateway_id);
      const server = state.server(body.server_id);
      if (gateway === undefined || server === undefined) return fail(404, "not_found", absent);
      const isTaken = state.portForwards.some(
        ({ protocol, listen_port }) => protocol === body.protocol && listen_port === body.listen_port,
      );
      if (isTaken)
        return fail(409, "port_in_use", `${body.protocol} ${body.listen_port} is forwarded already`);
      const port_forward: Schemas["PortForward"] = {
        id: fakeId("pf"),
        gateway_id: gateway.id,
        protocol: body.protocol,
        listen_port: body.listen_port,
        server_id: server.id,
        target_address: server.interfaces[0]?.private_ip ?? "10.0.0.10",
        target_port: body.target_port ?? body.listen_port,
        description: body.description ?? "",
        status: "provisioning",
        created_at: new Date().toISOString(),
      };
      state.portForwards.push(port_forward);
      return { status: 202, body: { port_forward, ...told(gateway, {}, token) } };
    },
  );
  operation(
    "delete",
    "/gateways/:gateway_id/port-forwards/:port_forward_id",
    "deletePortForward",
    ({ params, fail, token }) => {
      const gateway = find(params.gateway_id);
      const port_forward = state.portForwards.find(({ id }) => id === params.port_forward_id);
      if (gateway === undefined || port_forward === undefined) return fail(404, "not_found", absent);
      port_forward.status = "deleting";
      return { status: 202, body: { port_forward, ...told(gateway, {}, token) } };
    },
  );
}
