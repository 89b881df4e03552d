/** What the API's and the worker's processes may use of the updates of agents. */
export { advanceRollout } from "./advance-rollout.ts";
export { registerAgentUpdateMetrics } from "./metrics.ts";
export { mountAgentUpdates } from "./routes.ts";
export { startAutomaticRollout } from "./start-automatic-rollout.ts";
