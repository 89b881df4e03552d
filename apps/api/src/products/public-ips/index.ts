/** What other products may import of public IPs: how one is reserved, attached and released. */
export { releasePublicIp, takePublicIp } from "./allocation.ts";
export { comparePointers } from "./compare-pointers.ts";
export { givePublicIp, lockFreePublicIp } from "./give-to-owner.ts";
export { publicIpsOfServers } from "./of-servers.ts";
export { mountPublicIps } from "./routes.ts";
export { servePointers } from "./serve-pointers.ts";
export { findPublicIp, lockPublicIp } from "./store.ts";
