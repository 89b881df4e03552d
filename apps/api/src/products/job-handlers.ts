import type { JobHandlers } from "../platform/job-handler.ts";
import { networkJobs } from "./networks/settle.ts";
import { serverJobs } from "./servers/settle.ts";

/** The products that have jobs, by the type of resource their jobs are for. A plain list: a new product adds a line. */
export const jobHandlers: JobHandlers = {
  server: serverJobs,
  network: networkJobs,
};
