/** What other products may import of signing in. */
export { mountSignIn } from "./routes.ts";
