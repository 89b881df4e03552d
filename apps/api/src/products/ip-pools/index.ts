/** What other products may use of the pools. */
export { isFresh } from "./store.ts";
