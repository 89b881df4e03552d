import type { components, operations } from "./generated/schema.ts";

/** The contract's shapes by name: `Schemas["Server"]`. */
export type Schemas = components["schemas"];

export type { OperationId, OperationInfo } from "./generated/operations.ts";

/** The JSON body that an operation takes: `RequestBody<"createServer">`. */
export type RequestBody<Id extends keyof operations> = operations[Id] extends {
  requestBody?: { content: { "application/json": infer Body } };
}
  ? Body
  : never;

/** The query parameters of an operation, after coercion. */
export type RequestQuery<Id extends keyof operations> = NonNullable<operations[Id]["parameters"]["query"]>;

export type JobPayload = Schemas["JobPayload"];
export type JobKind = Schemas["JobKind"];
/** Jobs of the control plane itself, without a region: its worker does them, and no region's agent. */
export type ControlPlaneJobKind = "DomainApply";
export type RegionJobKind = Exclude<JobKind, ControlPlaneJobKind>;
/** Jobs of a server; the region's others are of its networks, certificates and load balancers. */
export type ServerJobKind = Exclude<
  RegionJobKind,
  "NetworkApply" | "CertificateRequest" | "LoadBalancerApply"
>;
export type ServerPayload = PayloadOf<ServerJobKind>;
export type PayloadOf<Kind extends JobKind> = Extract<JobPayload, { kind: Kind }>;
