/** What other products may import of reachability. */
export { mountReachability } from "./routes.ts";
