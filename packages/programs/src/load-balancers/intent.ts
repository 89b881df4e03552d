// From a job's payload to what the rules render. The payload names everything; nothing is chosen here.

import type { PayloadOf, Schemas } from "@kule/contract/schemas";
import type {
  HighAvailability,
  Listener,
  LoadBalancerIntent,
  Machine,
} from "@kule/rules/load-balancers/intent";

type Payload = PayloadOf<"LoadBalancerApply">;

export function intentOf(payload: Payload): LoadBalancerIntent {
  return {
    id: payload.load_balancer.id,
    generation: payload.generation,
    algorithm: payload.algorithm,
    listeners: payload.listeners.map(listenerOf),
    targets: payload.targets.map((target) => ({
      targetId: target.target_id,
      selectedServerId: target.selected_server_id,
      address: target.address,
      weight: target.weight,
      backup: target.backup,
      drain: target.drain,
    })),
    highAvailability: highAvailabilityOf(payload.high_availability),
    acmeThumbprint: payload.acme_thumbprint,
  };
}

export function machineOf(machine: Schemas["PayloadMachine"]): Machine {
  return {
    slot: machine.slot,
    address: machine.address,
    peerAddress: machine.peer_address,
    interfaceName: machine.interface_name,
    maxConnections: machine.max_connections,
  };
}

function listenerOf(listener: Schemas["PayloadListener"]): Listener {
  const { sticky, health_check: check } = listener;
  return {
    id: listener.id,
    protocol: listener.protocol,
    port: listener.port,
    targetPort: listener.target_port,
    redirectToHttps: listener.redirect_to_https,
    sticky: sticky === null ? null : { cookieName: sticky.cookie_name, ttlSeconds: sticky.ttl_seconds },
    proxyProtocol: listener.proxy_protocol,
    idleTimeoutSeconds: listener.idle_timeout_seconds,
    allowedCidrs: listener.allowed_cidrs,
    healthCheck: {
      protocol: check.protocol,
      port: check.port,
      path: check.path,
      host: check.host,
      expectedCodes: check.expected_codes,
      intervalSeconds: check.interval_seconds,
      timeoutSeconds: check.timeout_seconds,
      healthyThreshold: check.healthy_threshold,
      unhealthyThreshold: check.unhealthy_threshold,
    },
    certificates: listener.certificates.map(({ id, domain_names }) => ({ id, domainNames: domain_names })),
  };
}

function highAvailabilityOf(given: Payload["high_availability"]): HighAvailability | null {
  if (given === null) return null;
  const { public_address: address } = given;
  return {
    virtualAddress: given.virtual_address,
    prefixLength: given.prefix_length,
    vrid: given.vrid,
    publicAddress:
      address === null
        ? null
        : {
            address: address.address,
            prefixLength: address.prefix_length,
            gateway: address.gateway,
            interfaceName: address.interface_name,
          },
  };
}
