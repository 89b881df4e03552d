import type { ServerHooks } from "../servers/index.ts";
import { dropForwardsTo } from "./settle.ts";

/** The hooks of gateways for servers: the ports that they forward to them. */
export const gatewaysOfServers: ServerHooks = {
  // After the organisation's row, which usage has locked: it locks the rows of networks.
  settle:
    async (tx) =>
    async (server, { job, releasesAllocations }) => {
      if (releasesAllocations) await dropForwardsTo(tx, server, job);
    },
};
