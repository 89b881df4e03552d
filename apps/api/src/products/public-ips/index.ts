/** What other products may import of public IPs: how one is reserved, attached and released. */
export { releasePublicIp, takePublicIp } from "./allocation.ts";
export { comparePointers } from "./compare-pointers.ts";
export { publicIpsOfServers } from "./of-servers.ts";
export { mountPublicIps } from "./routes.ts";
export { servePointers } from "./serve-pointers.ts";
export { factsOf, findPublicIp, lockPublicIp } from "./store.ts";
