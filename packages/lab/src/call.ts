import { ApiError, badParameters, failure, permissionDenied } from "./api-error.ts";
import type { NodeDocument } from "./documents.ts";
import { nodesOf, type Region } from "./region.ts";
import type { Endpoint } from "./schema/api-schema.ts";
import { type Parameters, type RawParameters, validateParameters } from "./schema/validate-parameters.ts";

/** A request that passed authentication, permission and schema. */
export interface Call {
  readonly region: Region;
  readonly endpoint: Endpoint;
  /** "user@realm!token". */
  readonly authUser: string;
  /** The node that answers. */
  readonly node: string;
  readonly params: Parameters;
  /** Parameters that were given without a value: absent to the schema, but not to every call. */
  readonly valueless: readonly string[];
  /** Set by list calls that page. */
  total?: number;
}

/** Does the call and returns what goes into `data`. Throws {@link ApiError}. */
export type Handler = (call: Call) => unknown;
export type Handlers = Readonly<Record<string, Handler>>;

/** A parameter as text; undefined when absent. */
export function text(call: Call, name: string): string | undefined {
  const value = call.params[name];
  return Array.isArray(value) ? value.join(",") : value;
}

/** A parameter the schema requires. */
export function required(call: Call, name: string): string {
  const value = text(call, name);
  if (value === undefined) throw new Error(`${call.endpoint.id} has no parameter ${name}`);
  return value;
}

export function flag(call: Call, name: string, absent = false): boolean {
  const value = text(call, name);
  return value === undefined ? absent : value === "1";
}

export function number(call: Call, name: string): number | undefined {
  const value = text(call, name);
  return value === undefined ? undefined : Number(value);
}

/**
 * Options that Proxmox VE reserves for root@pam itself, which no token is: a true value is a 400, 0 passes.
 */
export function refuseRootOnly(call: Call, ...names: string[]): void {
  for (const name of names) {
    const value = text(call, name);
    if (value !== undefined && value !== "0" && call.authUser !== "root@pam") {
      throw badParameters({ [name]: "Only root may use this option." });
    }
  }
}

export interface Request {
  readonly method: string;
  /** Below /api2/json, percent-decoded. */
  readonly path: string;
  readonly raw: RawParameters;
  readonly authUser: string;
}

export interface Answer {
  readonly data: unknown;
  readonly total?: number;
}

const PROXY_TIMEOUT_SECONDS = 30;
const DAEMON_WORKERS = 3;

function answeringNode(region: Region, name: string): NodeDocument {
  const node = region.store.get("node", name);
  if (node !== undefined) {
    if (!node.online) throw new ApiError(595, "No route to host");
    return node;
  }
  // A fully qualified name resolves to the node's address, but it is not the name in its certificate.
  if (nodesOf(region).some((known) => name.startsWith(`${known.name}.`))) {
    throw new ApiError(596, "tls_process_server_certificate: certificate verify failed");
  }
  throw failure(
    `hostname lookup '${name}' failed - failed to get address info for: ${name}: Name or service not known`,
  );
}

/** Runs `work` in one of the three workers of the node's root daemon, waiting for a free one. */
async function inDaemon<T>(region: Region, node: string, work: () => Promise<T>): Promise<T> {
  const daemon = region.daemons.get(node) ?? { busy: 0, waiting: [] };
  region.daemons.set(node, daemon);
  if (daemon.busy >= DAEMON_WORKERS) await new Promise<void>((resolve) => daemon.waiting.push(resolve));
  else daemon.busy += 1;
  try {
    return await work();
  } finally {
    const next = daemon.waiting.shift();
    if (next === undefined) daemon.busy -= 1;
    else next();
  }
}

/** The operation continues; only the caller stops waiting. */
async function behindProxy<T>(region: Region, work: Promise<T>): Promise<T> {
  const milliseconds = PROXY_TIMEOUT_SECONDS * Math.max(region.runtime.timeScale * 1000, 100);
  let cancel = (): void => undefined;
  const timeout = new Promise<never>((_, reject) => {
    cancel = region.runtime.after(milliseconds, () => reject(new ApiError(596, "Connection timed out")));
  });
  work.catch(() => undefined);
  try {
    return await Promise.race([work, timeout]);
  } finally {
    cancel();
  }
}

/**
 * Finds and runs a call, in Proxmox VE's order: known call (501), conflict with the path (400),
 * permission (403), reachable node (595), parameters (400), then whatever the call itself refuses.
 */
export async function dispatch(region: Region, handlers: Handlers, request: Request): Promise<Answer> {
  const found = region.schema.find(request.method, request.path);
  const handler = found === undefined ? undefined : handlers[found.endpoint.id];
  if (found === undefined || handler === undefined) {
    throw new ApiError(501, `Method '${request.method} ${request.path}' not implemented`);
  }
  const { endpoint, uri } = found;
  const merged: RawParameters = { ...uri };
  for (const [key, value] of Object.entries(request.raw)) {
    if (uri[key] !== undefined && uri[key] !== String(value ?? "")) {
      throw badParameters({ [key]: "duplicate parameter (already defined in URI) with conflicting values!" });
    }
    merged[key] = value;
  }
  const { permissions } = endpoint;
  if (permissions === null && request.authUser !== "root@pam") {
    throw new ApiError(403, "Permission check failed (user != root@pam)\n");
  }
  if (permissions?.user !== "all" && permissions?.user !== "world") {
    if (permissions?.check === undefined) throw permissionDenied();
    region.permissions.requireExpression(request.authUser, permissions.check, merged);
  }
  const entry = nodesOf(region).find(({ online }) => online)?.name ?? "pve1";
  const named = endpoint.proxyto === "node" ? uri.node : undefined;
  const node = named === undefined || named === "localhost" ? entry : answeringNode(region, named).name;
  const run = async (): Promise<Answer> => {
    const params = validateParameters(endpoint, merged);
    const valueless = Object.keys(merged).filter((key) => (merged[key] ?? null) === null);
    const call: Call = { region, endpoint, authUser: request.authUser, node, params, valueless };
    const data = await handler(call);
    return call.total === undefined ? { data: data ?? null } : { data: data ?? null, total: call.total };
  };
  if (!endpoint.protected && node === entry) return await run();
  return await behindProxy(region, endpoint.protected ? inDaemon(region, node, run) : run());
}
