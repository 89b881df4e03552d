import { inField, type Problem, shown } from "../domains/problem.ts";
import { parseIpBlock } from "../public-ips/addresses.ts";
import { isAllowed } from "./allowed-texts.ts";
import { type HealthCheckRule, healthCheckProblems } from "./health-check.ts";
import type { ListenerSettings } from "./intent.ts";
import {
  maxAllowedCidrs,
  maxCertificatesOfListener,
  maxIdleTimeoutSeconds,
  maxStickySeconds,
  reservedPorts,
} from "./limits.ts";
import { type NumberRule, numberProblems, portProblems } from "./numbers.ts";

export type ListenerRule =
  | HealthCheckRule
  | NumberRule
  | "protocol_unknown"
  | "protocol_udp"
  | "port_reserved"
  | "certificate_missing"
  | "certificate_not_here"
  | "certificate_twice"
  | "too_many_certificates"
  | "redirect_http_only"
  | "redirect_sends_nothing"
  | "sticky_http_only"
  | "cookie_name"
  | "cookie_needs_https"
  | "cidr"
  | "cidr_twice"
  | "too_many_cidrs";

/** A listener as a request has it, with the defaults. */
export type ListenerRequest = ListenerSettings & {
  /** Any text: also `udp`, which is refused with its reason. */
  readonly protocol: string;
  /** Ordered. */
  readonly certificateIds: readonly string[];
};

const protocols = ["tcp", "http", "https", "tls_passthrough"];

/**
 * What is wrong with a listener for itself.
 *
 * @param at JSON pointer of the listener in what was sent: empty, or such as `/listeners/2`
 */
export function listenerProblems(listener: ListenerRequest, at = ""): Problem<ListenerRule>[] {
  return [
    ...protocolProblems(listener.protocol, at),
    ...listenPortProblems(listener.port, at),
    ...portProblems(listener.targetPort, `${at}/target_port`),
    ...certificateProblems(listener, at),
    ...redirectProblems(listener, at),
    ...stickyProblems(listener, at),
    ...numberProblems(
      listener.idleTimeoutSeconds,
      { min: 1, max: maxIdleTimeoutSeconds },
      `${at}/idle_timeout_seconds`,
      "s",
    ),
    ...cidrProblems(listener.allowedCidrs, at),
    ...healthCheckProblems(listener.healthCheck, listener.protocol, `${at}/health_check`),
  ];
}

function protocolProblems(protocol: string, at: string): Problem<ListenerRule>[] {
  if (protocols.includes(protocol)) return [];
  const field = `${at}/protocol`;
  if (protocol === "udp")
    return [
      inField(field, {
        rule: "protocol_udp",
        message: "A load balancer forwards no UDP: haproxy, which it runs, balances no datagrams",
        fix: "Use tcp, or a gateway's port forward to one server",
      }),
    ];
  return [
    inField(field, {
      rule: "protocol_unknown",
      message: `${shown(protocol)} is no protocol of a listener`,
      fix: `Enter one of ${protocols.join(", ")}`,
    }),
  ];
}

function listenPortProblems(port: number, at: string): Problem<ListenerRule>[] {
  const reason = reservedPorts.get(port);
  if (reason === undefined) return portProblems(port, `${at}/port`);
  return [
    inField(`${at}/port`, {
      rule: "port_reserved",
      message: `A listener cannot have the port: ${reason}`,
      fix: "Enter another port",
    }),
  ];
}

function certificateProblems(
  { protocol, certificateIds }: ListenerRequest,
  at: string,
): Problem<ListenerRule>[] {
  const field = `${at}/certificate_ids`;
  if (protocol === "https" && certificateIds.length === 0)
    return [
      inField(field, {
        rule: "certificate_missing",
        message: "An https listener answers with a certificate, and there is none",
        fix: "Enter the id of a certificate, or use tls_passthrough if the targets have it",
      }),
    ];
  if (protocol !== "https" && certificateIds.length > 0)
    return [
      inField(field, {
        rule: "certificate_not_here",
        message: "Only an https listener has certificates",
        fix: "Leave them out, or set the protocol to https",
      }),
    ];
  if (certificateIds.length > maxCertificatesOfListener)
    return [
      inField(field, {
        rule: "too_many_certificates",
        message: `The listener has ${certificateIds.length} certificates`,
        fix: `Enter at most ${maxCertificatesOfListener}`,
      }),
    ];
  return repeated(certificateIds).map((index) =>
    inField(`${field}/${index}`, {
      rule: "certificate_twice",
      message: "This certificate is in the list already",
      fix: "Leave out one of the two",
    }),
  );
}

function redirectProblems(listener: ListenerRequest, at: string): Problem<ListenerRule>[] {
  const { redirectToHttps, protocol, sticky, proxyProtocol } = listener;
  if (!redirectToHttps) return [];
  if (protocol !== "http")
    return [
      inField(`${at}/redirect_to_https`, {
        rule: "redirect_http_only",
        message: "Only an http listener can redirect to https",
        fix: "Set it to false",
      }),
    ];
  // A listener that redirects has no targets, so these would say something that never holds.
  const idle = [
    ...(sticky === null ? [] : ["sticky"]),
    ...(proxyProtocol === "none" ? [] : ["proxy_protocol"]),
  ];
  return idle.map((name) =>
    inField(`${at}/${name}`, {
      rule: "redirect_sends_nothing",
      message: "A listener that redirects sends nothing to targets",
      fix: "Leave it out, and set it at the https listener",
    }),
  );
}

function stickyProblems({ sticky, protocol }: ListenerRequest, at: string): Problem<ListenerRule>[] {
  if (sticky === null) return [];
  if (protocol !== "http" && protocol !== "https")
    return [
      inField(`${at}/sticky`, {
        rule: "sticky_http_only",
        message: "Only http and https listeners can set a cookie",
        fix: "Leave it out, or use the algorithm source_hash",
      }),
    ];
  const found: Problem<ListenerRule>[] = [];
  if (!isAllowed("cookieName", sticky.cookieName))
    found.push(
      inField(`${at}/sticky/cookie_name`, {
        rule: "cookie_name",
        message: `${shown(sticky.cookieName)} is no name of a cookie`,
        fix: "Enter 1 to 64 letters, digits, underscores and hyphens, such as SERVERID",
      }),
    );
  else if (protocol === "http" && /^__(secure|host)-/i.test(sticky.cookieName))
    found.push(
      inField(`${at}/sticky/cookie_name`, {
        rule: "cookie_needs_https",
        message: "Browsers keep a cookie with such a name only when it came by https",
        fix: "Enter a name that does not begin with __Secure- or __Host-",
      }),
    );
  if (sticky.ttlSeconds !== null)
    found.push(
      ...numberProblems(
        sticky.ttlSeconds,
        { min: 1, max: maxStickySeconds },
        `${at}/sticky/ttl_seconds`,
        "s",
      ),
    );
  return found;
}

function cidrProblems(cidrs: readonly string[], at: string): Problem<ListenerRule>[] {
  const field = `${at}/allowed_cidrs`;
  if (cidrs.length > maxAllowedCidrs)
    return [
      inField(field, {
        rule: "too_many_cidrs",
        message: `The listener has ${cidrs.length} blocks of addresses`,
        fix: `Enter at most ${maxAllowedCidrs}; a firewall takes more`,
      }),
    ];
  const wrong = cidrs.flatMap((cidr, index) =>
    parseIpBlock(cidr) !== null
      ? []
      : [
          inField<ListenerRule>(`${field}/${index}`, {
            rule: "cidr",
            message: `${shown(cidr)} is no block of addresses`,
            fix: "Enter a block such as 192.0.2.0/24, with host bits zero, or 192.0.2.7/32 for one address",
          }),
        ],
  );
  const twice = repeated(cidrs).map((index) =>
    inField<ListenerRule>(`${field}/${index}`, {
      rule: "cidr_twice",
      message: "This block is in the list already",
      fix: "Leave out one of the two",
    }),
  );
  return [...wrong, ...twice];
}

/** Places of texts that are in the list before. */
function repeated(texts: readonly string[]): number[] {
  const seen = new Set<string>();
  const places: number[] = [];
  for (const [index, text] of texts.entries()) {
    if (seen.has(text)) places.push(index);
    seen.add(text);
  }
  return places;
}
