import type { Handlers } from "./call.ts";
import { clusterHandlers } from "./endpoints/cluster.ts";
import { nodeHandlers } from "./endpoints/nodes.ts";
import { poolHandlers } from "./endpoints/pools.ts";
import { taskHandlers } from "./endpoints/tasks.ts";
import { vmAgentHandlers } from "./endpoints/vm-agent.ts";
import { vmCloneHandlers } from "./endpoints/vm-clone.ts";
import { vmConfigHandlers } from "./endpoints/vm-config.ts";
import { vmConsoleHandlers } from "./endpoints/vm-console.ts";
import { vmCreateHandlers } from "./endpoints/vm-create.ts";
import { vmDestroyHandlers } from "./endpoints/vm-destroy.ts";
import { vmFirewallHandlers } from "./endpoints/vm-firewall.ts";
import { vmMigrateHandlers } from "./endpoints/vm-migrate.ts";
import { vmPowerHandlers } from "./endpoints/vm-power.ts";
import { vmReadHandlers } from "./endpoints/vm-read.ts";

/** Every call the lab serves, by "METHOD path" of the schema. */
export const handlers: Handlers = {
  ...clusterHandlers,
  ...nodeHandlers,
  ...poolHandlers,
  ...taskHandlers,
  ...vmAgentHandlers,
  ...vmCloneHandlers,
  ...vmConfigHandlers,
  ...vmConsoleHandlers,
  ...vmCreateHandlers,
  ...vmDestroyHandlers,
  ...vmFirewallHandlers,
  ...vmMigrateHandlers,
  ...vmPowerHandlers,
  ...vmReadHandlers,
};
