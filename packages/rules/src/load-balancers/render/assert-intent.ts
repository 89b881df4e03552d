import { parseIp, parseIpBlock } from "../../public-ips/addresses.ts";
import { type AllowedText, isAllowed, isIdOf } from "../allowed-texts.ts";
import { readExpectedCodes } from "../expected-codes.ts";
import type { HealthCheck, Listener, LoadBalancerIntent, Machine, ResolvedTarget } from "../intent.ts";
import {
  maxAllowedCidrs,
  maxCertificatesOfListener,
  maxIdleTimeoutSeconds,
  maxListeners,
  maxMachineConnections,
  maxResolvedTargets,
  maxStickySeconds,
  maxWeight,
} from "../limits.ts";

/**
 * What is rendered was validated when it was written; this is what must hold here whoever wrote it.
 *
 * @throws Error that names the field and never its value, which may be hostile
 */
export function assertIntent(intent: LoadBalancerIntent, machine: Machine): void {
  id("lb", intent.id, "id");
  whole(intent.generation, 1, 2_147_483_647, "generation");
  oneOf(intent.algorithm, ["round_robin", "least_connections", "source_hash"], "algorithm");
  whole(intent.listeners.length, 0, maxListeners, "number of listeners");
  whole(intent.targets.length, 0, maxResolvedTargets, "number of targets");
  if (intent.acmeThumbprint !== null) text("thumbprint", intent.acmeThumbprint, "acmeThumbprint");
  for (const listener of intent.listeners) assertListener(listener);
  distinct(
    intent.listeners.map(({ port }) => String(port)),
    "ports of listeners",
  );
  distinct(
    intent.listeners.map((listener) => listener.id),
    "ids of listeners",
  );
  for (const target of intent.targets) assertTarget(target);
  distinct(
    intent.targets.map(({ targetId, selectedServerId }) => `${targetId}.${selectedServerId}`),
    "targets",
  );
  assertMachine(machine);
  assertHighAvailability(intent, machine);
}

function assertListener(listener: Listener): void {
  const { sticky, certificates, protocol } = listener;
  id("lsn", listener.id, "listener.id");
  oneOf(protocol, ["tcp", "http", "https", "tls_passthrough"], "listener.protocol");
  oneOf(listener.proxyProtocol, ["none", "v1", "v2"], "listener.proxyProtocol");
  port(listener.port, "listener.port");
  port(listener.targetPort, "listener.targetPort");
  whole(listener.idleTimeoutSeconds, 1, maxIdleTimeoutSeconds, "listener.idleTimeoutSeconds");
  whole(listener.allowedCidrs.length, 0, maxAllowedCidrs, "number of allowedCidrs");
  for (const cidr of listener.allowedCidrs) must(parseIpBlock(cidr) !== null, "listener.allowedCidrs");
  const isHttps = protocol === "https";
  whole(
    certificates.length,
    isHttps ? 1 : 0,
    isHttps ? maxCertificatesOfListener : 0,
    "number of certificates",
  );
  for (const certificate of certificates) {
    id("cert", certificate.id, "certificate.id");
    whole(certificate.domainNames.length, 1, 100, "number of domainNames");
    for (const name of certificate.domainNames) text("domainName", name, "certificate.domainNames");
  }
  if (sticky !== null) {
    must(protocol === "http" || isHttps, "listener.sticky");
    text("cookieName", sticky.cookieName, "sticky.cookieName");
    if (sticky.ttlSeconds !== null) whole(sticky.ttlSeconds, 1, maxStickySeconds, "sticky.ttlSeconds");
  }
  if (listener.redirectToHttps) must(protocol === "http", "listener.redirectToHttps");
  assertHealthCheck(listener.healthCheck);
}

function assertHealthCheck(check: HealthCheck): void {
  oneOf(check.protocol, ["tcp", "http"], "healthCheck.protocol");
  if (check.port !== null) port(check.port, "healthCheck.port");
  whole(check.intervalSeconds, 1, 300, "healthCheck.intervalSeconds");
  whole(check.timeoutSeconds, 1, 300, "healthCheck.timeoutSeconds");
  whole(check.healthyThreshold, 1, 10, "healthCheck.healthyThreshold");
  whole(check.unhealthyThreshold, 1, 10, "healthCheck.unhealthyThreshold");
  if (check.path !== null) text("path", check.path, "healthCheck.path");
  if (check.host !== null) text("host", check.host, "healthCheck.host");
  if (check.expectedCodes !== null)
    must(readExpectedCodes(check.expectedCodes).ok, "healthCheck.expectedCodes");
}

function assertTarget(target: ResolvedTarget): void {
  id("tgt", target.targetId, "target.targetId");
  if (target.selectedServerId !== null) id("srv", target.selectedServerId, "target.selectedServerId");
  four(target.address, "target.address");
  whole(target.weight, 0, maxWeight, "target.weight");
}

function assertMachine(machine: Machine): void {
  must(machine.slot === 1 || machine.slot === 2, "machine.slot");
  four(machine.address, "machine.address");
  if (machine.peerAddress !== null) four(machine.peerAddress, "machine.peerAddress");
  text("interfaceName", machine.interfaceName, "machine.interfaceName");
  whole(machine.maxConnections, 1, maxMachineConnections, "machine.maxConnections");
}

function assertHighAvailability({ highAvailability }: LoadBalancerIntent, machine: Machine): void {
  if (highAvailability === null) return;
  const { publicAddress } = highAvailability;
  must(machine.peerAddress !== null && machine.peerAddress !== machine.address, "machine.peerAddress");
  four(highAvailability.virtualAddress, "highAvailability.virtualAddress");
  whole(highAvailability.prefixLength, 8, 32, "highAvailability.prefixLength");
  whole(highAvailability.vrid, 1, 255, "highAvailability.vrid");
  if (publicAddress === null) return;
  four(publicAddress.address, "publicAddress.address");
  whole(publicAddress.prefixLength, 8, 32, "publicAddress.prefixLength");
  text("interfaceName", publicAddress.interfaceName, "publicAddress.interfaceName");
  if (publicAddress.gateway !== null) four(publicAddress.gateway, "publicAddress.gateway");
}

function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(`the load balancer cannot be rendered: ${what}`);
}
const id = (prefix: Parameters<typeof isIdOf>[0], value: string, what: string) =>
  must(isIdOf(prefix, value), what);
const text = (kind: AllowedText, value: string, what: string) => must(isAllowed(kind, value), what);
const whole = (value: number, min: number, max: number, what: string) =>
  must(Number.isInteger(value) && value >= min && value <= max, what);
const port = (value: number, what: string) => whole(value, 1, 65_535, what);
const four = (value: string, what: string) => must(parseIp(value)?.version === 4, what);
const oneOf = (value: string, values: readonly string[], what: string) => must(values.includes(value), what);
const distinct = (values: readonly string[], what: string) =>
  must(new Set(values).size === values.length, what);
