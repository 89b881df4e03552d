/** What other products, the worker, the agents' calls and the lists of handlers may import of load balancers. */
export { requestApply as requestLoadBalancerApply } from "./apply.ts";
export { followTargets } from "./follow-targets.ts";
export { keepLoadBalancers } from "./keep-load-balancers.ts";
export { meterTraffic } from "./meter-traffic.ts";
export { deleteOldTraffic } from "./metrics.ts";
export { loadBalancersOfCertificates } from "./of-certificates.ts";
export { loadBalancersOfNetworks } from "./of-networks.ts";
export { loadBalancersOfServers } from "./of-servers.ts";
export { mountLoadBalancers } from "./routes.ts";
export { loadBalancerJobs } from "./settle.ts";
export { machinesToAsk, recordSights } from "./sight.ts";
