import type { ServerHooks } from "../servers/index.ts";
import { attachIpToNewServer, publicIpOfNewServerErrors } from "./attach-to-new-server.ts";
import { publicInterfaceOf } from "./payload.ts";
import { catchUp, ipsOf, lockRelatedServers, retryPublicIps, settlePublicIps } from "./settle.ts";
import { takeOverPublicIps } from "./take-over.ts";

/** The hooks of public IPs for servers: their public interface, and what their jobs do to it. */
export const publicIpsOfServers: ServerHooks = {
  check: (request, body, region) => publicIpOfNewServerErrors(request, body.public_ip, region),
  give: async (tx, { id, organisation_id, region }, { public_ip: wanted }) => {
    if (wanted !== undefined) await attachIpToNewServer(tx, organisation_id, { id, region }, wanted);
  },
  takeOver: takeOverPublicIps,
  lockRelated: lockRelatedServers,
  publicInterface: publicInterfaceOf,
  settle: async (tx, { id, organisation_id }) => {
    const ips = await ipsOf(tx, organisation_id, id);
    return (server, { job, end, settings }) => settlePublicIps(tx, ips, server, job, end, settings);
  },
  retried: retryPublicIps,
  restored: catchUp,
};
