import type { JobHandlers } from "../platform/job-handler.ts";
import { certificateJobs } from "./certificates/index.ts";
import { domainJobs } from "./domains/index.ts";
import { loadBalancerJobs } from "./load-balancers/index.ts";
import { networkHooks } from "./network-hooks.ts";
import { networkJobs } from "./networks/index.ts";
import { serverHooks } from "./server-hooks.ts";
import { serverJobs } from "./servers/index.ts";

/** The products that have jobs, by the type of resource their jobs are for. A plain list: a new product adds a line. */
export const jobHandlers: JobHandlers = {
  server: serverJobs(serverHooks),
  network: networkJobs(networkHooks),
  domain: domainJobs(),
  certificate: certificateJobs(),
  load_balancer: loadBalancerJobs(),
};
