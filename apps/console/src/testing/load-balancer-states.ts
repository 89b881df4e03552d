import { listenerStatus, wellStatus } from "@kule/api/testing/load-balancer-world";
import { done, type SceneApi } from "./scene-api.ts";

/** A load balancer that serves; its id. */
export async function addLoadBalancer(
  api: SceneApi,
  name: string,
  subnetId: string,
  more: object = {},
): Promise<string> {
  const body = { name, subnet_id: subnetId, ...more };
  const { load_balancer } = await done(api.acme.post("/load-balancers", body));
  await api.agent.work();
  return load_balancer.id;
}

/**
 * As if the region's round had asked the machine: every listener is open and has carried something, and every target is
 * healthy but those of the address, which refuses connections.
 */
export async function seeHealth(api: SceneApi, id: string, refusing: string | null = null): Promise<void> {
  const [{ machines }, listeners, health] = await Promise.all([
    api.read(`/load-balancers/${id}`),
    api.list(`/load-balancers/${id}/listeners`),
    api.read(`/load-balancers/${id}/health`),
  ]);
  const { targets } = health as {
    readonly targets: readonly {
      readonly target_id: string;
      readonly server_id: string | null;
      readonly address: string;
    }[];
  };
  const selecting = new Set(
    (await api.list(`/load-balancers/${id}/targets`)).flatMap((target) =>
      target.label_selector === null ? [] : [target.id],
    ),
  );
  const check = (listenerId: string, { target_id, server_id, address }: (typeof targets)[number]) => ({
    listener_id: listenerId,
    ...(address === refusing
      ? { status: "DOWN", check_status: "L4CON", check_code: null, last_check: "Connection refused" }
      : { status: "UP", check_status: "L4OK", check_code: null, last_check: "" }),
    // As the configuration names it.
    servers: [selecting.has(target_id) ? `${target_id}.${server_id}` : target_id],
  });
  const reports = machines.map(
    ({ slot, server_id }: { readonly slot: number; readonly server_id: string }) => ({
      load_balancer_id: id,
      slot,
      server_id,
      asked_after_ms: 0,
      seen_after_ms: 0,
      status: {
        ...wellStatus,
        role: machines.length === 1 ? null : slot === 1 ? "master" : "backup",
        listeners: listeners.map((listener) => listenerStatus(listener.id, { responses: [0, 40, 2, 1, 12] })),
        checks: listeners.flatMap((listener) => targets.map((target) => check(listener.id, target))),
      },
    }),
  );
  await done(api.agent.api.post("/agent/load-balancers", { agent_version: "0.1.0", reports, after: null }));
}

/** The region says of the machine of a new load balancer that it has carried what none can; the load balancer's id. */
export async function reportImpossibleTraffic(api: SceneApi): Promise<string> {
  const { network } = await done(
    api.acme.post("/networks", { name: "counted", region: "ist1", cidr: "10.78.0.0/16" }),
  );
  const { subnet } = await done(
    api.acme.post(`/networks/${network.id}/subnets`, { name: "app", tier: "app" }),
  );
  const id = await addLoadBalancer(api, "counted", subnet.id, {
    listeners: [{ protocol: "tcp", port: 80 }],
  });
  const [listener] = await api.list(`/load-balancers/${id}/listeners`);
  const [machine] = (await api.read(`/load-balancers/${id}`)).machines;
  const report = {
    load_balancer_id: id,
    slot: 1,
    server_id: machine.server_id,
    asked_after_ms: 0,
    seen_after_ms: 0,
    status: {
      ...wellStatus,
      listeners: [listenerStatus(listener.id, { bytes_out: Number.MAX_SAFE_INTEGER })],
    },
  };
  await done(
    api.agent.api.post("/agent/load-balancers", { agent_version: "0.1.0", reports: [report], after: null }),
  );
  return id;
}
