import { maxMachineConnections } from "./limits.ts";

/** Of one connection that haproxy passes on, with TLS on the side of the client. */
const kibOfConnection = 68;

/** How many connections a machine of that much memory may have: half of it is for the system and for the reloads' old workers. */
export const connectionsOf = (memoryMb: number): number =>
  Math.max(1, Math.min(maxMachineConnections, Math.floor((memoryMb * 1024) / 2 / kibOfConnection)));
