import type { Schemas } from "@kule/contract/schemas";
import { relabelled } from "./fake-labels.ts";
import type { Operation } from "./fake-operation.ts";
import { narrowedPage } from "./fake-page.ts";
import { fakeId, fakeJob } from "./fake-records.ts";
import type { FakeState } from "./fake-state.ts";

type PublicIp = Schemas["PublicIp"];

const may = { allowed: true, code: null, reason: null } as const;

/** A public IP after its reservation, or attached to a server. */
export function fakePublicIp(address: string, server: Schemas["Server"] | null = null): PublicIp {
  const now = new Date().toISOString();
  return {
    id: fakeId("ip"),
    address,
    version: address.includes(":") ? 6 : 4,
    prefix_length: 24,
    gateway: "203.0.113.1",
    region: "ist1",
    status: server === null ? "free" : "attached",
    status_reason: null,
    attached_to: server === null ? null : { type: "server", id: server.id, name: server.name },
    requires_reboot: false,
    ptr: null,
    labels: {},
    delete_with_server: false,
    protection: { delete: false },
    actions: actionsOf(server !== null),
    job_id: null,
    generation: 1,
    created_at: now,
    updated_at: now,
  };
}

function actionsOf(isAttached: boolean): PublicIp["actions"] {
  const refused = (code: "in_use" | "not_attached", reason: string) => ({ allowed: false, code, reason });
  return {
    attach: may,
    detach: isAttached ? may : refused("not_attached", "The address is attached to no server"),
    delete: isAttached ? refused("in_use", "The address is attached to a server") : may,
  };
}

/** The organisation can reserve three addresses. */
const allocated = 3;

export function registerPublicIps(operation: Operation, state: FakeState): void {
  const find = (id: string | undefined) => state.publicIps.find((ip) => ip.id === id);
  operation("get", "/public-ips", "listPublicIps", ({ query, fail }) =>
    narrowedPage(state.publicIps, query, fail),
  );
  operation("get", "/public-ips/:public_ip_id", "getPublicIp", ({ params, fail }) => {
    const ip = find(params.public_ip_id);
    return ip === undefined ? fail(404, "not_found", "no such address") : { status: 200, body: ip };
  });
  operation<Schemas["PublicIpCreate"]>("post", "/public-ips", "createPublicIp", ({ body, fail }) => {
    const message = "The organisation has no free public IPv4 address in region ist1; ask the operator";
    if (state.publicIps.length >= allocated)
      return fail(409, "no_public_ip_available", message, {
        precondition: {
          name: "organisation_has_free_public_ip",
          code: "no_public_ip_available",
          message,
          resource: "ist1",
          fix: null,
        },
      });
    const { address = `203.0.113.${10 + state.publicIps.length}`, ptr = null, labels = {} } = body;
    if (state.publicIps.some((ip) => ip.address === address))
      return fail(409, "no_public_ip_available", `${address} is none of the addresses that are free to take`);
    const ip = {
      ...fakePublicIp(address),
      ptr,
      labels,
      delete_with_server: body.delete_with_server ?? false,
      protection: { delete: body.protection?.delete ?? false },
    };
    state.publicIps.push(ip);
    return { status: 201, body: ip };
  });
  operation<Schemas["PublicIpAttach"]>(
    "post",
    "/public-ips/:public_ip_id/attach",
    "attachPublicIp",
    ({ params, body, fail }) => {
      const ip = find(params.public_ip_id);
      const server = state.server(body.server_id);
      if (ip === undefined || server === undefined) return fail(404, "not_found", "no such resource");
      const job = fakeJob("PublicIpAttach", server.id, "Ada Lovelace");
      state.jobs.push(job);
      server.public_ips = [
        ...server.public_ips,
        {
          id: ip.id,
          address: ip.address,
          version: ip.version,
          status: "attached",
          requires_reboot: false,
        },
      ];
      Object.assign(ip, {
        status: "attached",
        attached_to: { type: "server", id: server.id, name: server.name },
        actions: actionsOf(true),
      } satisfies Partial<PublicIp>);
      return { status: 202, body: { public_ip: ip, server, job } };
    },
  );
  operation("post", "/public-ips/:public_ip_id/detach", "detachPublicIp", ({ params, fail }) => {
    const ip = find(params.public_ip_id);
    const server = state.server(ip?.attached_to?.id);
    if (ip === undefined || server === undefined)
      return fail(409, "not_attached", "The address is attached to no server");
    const job = fakeJob("PublicIpDetach", server.id, "Ada Lovelace");
    state.jobs.push(job);
    server.public_ips = server.public_ips.filter(({ id }) => id !== ip.id);
    const free = { status: "free", attached_to: null, actions: actionsOf(false) } as const;
    Object.assign(ip, free satisfies Partial<PublicIp>);
    return { status: 202, body: { public_ip: ip, server, job } };
  });
  operation<Schemas["PublicIpUpdate"]>(
    "patch",
    "/public-ips/:public_ip_id",
    "updatePublicIp",
    ({ params, body, fail }) => {
      const ip = find(params.public_ip_id);
      if (ip === undefined) return fail(404, "not_found", "no such address");
      return relabelled(ip, body, fail, () => ({ status: 200, body: ip }));
    },
  );
  operation("delete", "/public-ips/:public_ip_id", "deletePublicIp", ({ params }) => {
    const index = state.publicIps.findIndex(({ id }) => id === params.public_ip_id);
    state.publicIps.splice(index, 1);
    return { status: 204, body: null };
  });
}
