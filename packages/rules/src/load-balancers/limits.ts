import type { HealthCheck, ListenerProtocol } from "./intent.ts";

/** Each is a section of the configuration, and a reload reads all of them. */
export const maxListeners = 32;
/** A page of the panel, and one answer of the API. */
export const maxTargets = 64;
/**
 * Servers and addresses that the targets are. With all listeners these are 8,192 checks every few seconds, which one small
 * machine can do.
 */
export const maxResolvedTargets = 256;
/** haproxy compares the name of a connection with all of them; each may have 100 names. */
export const maxCertificatesOfListener = 20;
/** More belong into a firewall. */
export const maxAllowedCidrs = 100;
/** Longer names of cookies meet the limits of browsers together with the values of others. */
export const maxCookieNameLength = 64;
/** haproxy reads lines of 2,047 characters, and a check's line has path and host. */
export const maxPathLength = 200;
export const maxHostLength = 253;
export const maxExpectedCodesLength = 100;
/** haproxy's own limit of a weight. */
export const maxWeight = 256;
/** Beyond an hour the connection is lost on the way in any network with state. */
export const maxIdleTimeoutSeconds = 4_000;
export const defaultIdleTimeoutSeconds = 60;
/** 30 days: as long as browsers keep a cookie of a session that nobody uses. */
export const maxStickySeconds = 2_592_000;
export const checkLimits = {
  /** Every second would be more checks than traffic for most. */
  intervalSeconds: { min: 2, max: 300 },
  timeoutSeconds: { min: 1, max: 60 },
  threshold: { min: 1, max: 10 },
} as const;
/** haproxy keeps its sockets and buffers by it before the first connection. */
export const maxMachineConnections = 1_000_000;

/** Ports on which a machine listens itself or that would let users take it for their own server. */
export const reservedPorts: ReadonlyMap<number, string> = new Map([
  [22, "port 22 is kept for SSH, which a load balancer does not serve"],
  [53, "port 53 is used by the machine's own resolver"],
  [5355, "port 5355 is used by the machine's own resolver"],
]);

/** Where a CA looks for the answer of HTTP-01. */
export const acmePort = 80;

/** By tcp for every protocol: what answers on `/` with 404 or 401 is healthy all the same. */
export const defaultHealthCheck: HealthCheck = {
  protocol: "tcp",
  port: null,
  path: null,
  host: null,
  expectedCodes: null,
  intervalSeconds: 10,
  timeoutSeconds: 5,
  healthyThreshold: 3,
  unhealthyThreshold: 2,
};
export const defaultHttpCheck = { path: "/", expectedCodes: "200-399" } as const;

/** A check as a request has it, completed. */
export function completeHealthCheck(given: Partial<HealthCheck>): HealthCheck {
  const check = { ...defaultHealthCheck, ...given };
  if (check.protocol === "tcp") return check;
  return {
    ...check,
    path: check.path ?? defaultHttpCheck.path,
    expectedCodes: check.expectedCodes ?? defaultHttpCheck.expectedCodes,
  };
}

/** Those of which haproxy reads requests. */
export const isHttp = (protocol: ListenerProtocol): boolean => protocol === "http" || protocol === "https";
