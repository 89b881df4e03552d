import type { HealthCheck, Listener, LoadBalancerIntent } from "../intent.ts";
import { acmePort, defaultHttpCheck, isHttp } from "../limits.ts";
import { type NamedServer, serverLines } from "./server-lines.ts";

/** The frontend of a listener, and its backend unless it only redirects. */
export function listenerSections(
  listener: Listener,
  intent: LoadBalancerIntent,
  servers: readonly NamedServer[],
): string[] {
  const frontend = frontendLines(listener, intent);
  return listener.redirectToHttps ? frontend : [...frontend, ...backendLines(listener, intent, servers)];
}

function frontendLines(listener: Listener, intent: LoadBalancerIntent): string[] {
  const { id, port, protocol, idleTimeoutSeconds, allowedCidrs } = listener;
  const tls = protocol === "https" ? ` ssl crt-list certificates/${id}.list strict-sni alpn h2,http/1.1` : "";
  return [
    `frontend ${id}`,
    `    mode ${isHttp(protocol) ? "http" : "tcp"}`,
    `    bind 0.0.0.0:${port}${tls}`,
    `    timeout client ${idleTimeoutSeconds}s`,
    ...(allowedCidrs.length === 0 || answersChallenges(listener, intent)
      ? []
      : [`    tcp-request connection reject unless { src -f cidrs/${id}.list }`]),
    ...(isHttp(protocol) ? requestLines(listener, intent) : connectionLines(listener)),
    "",
  ];
}

/** Of tls_passthrough only what begins as TLS passes: the same port must not serve plain text by mistake. */
function connectionLines({ id, protocol }: Listener): string[] {
  const inspection = [
    "    tcp-request inspect-delay 5s",
    "    tcp-request content accept if { req.ssl_hello_type 1 }",
    "    tcp-request content reject",
  ];
  return [...(protocol === "tls_passthrough" ? inspection : []), `    default_backend ${id}`];
}

function requestLines(listener: Listener, intent: LoadBalancerIntent): string[] {
  const { id, port, protocol, idleTimeoutSeconds, redirectToHttps } = listener;
  return [
    `    timeout http-keep-alive ${idleTimeoutSeconds}s`,
    ...(answersChallenges(listener, intent) ? challengeLines(listener, intent) : []),
    ...(redirectToHttps
      ? redirectLines(intent)
      : [...forwardedLines(port, protocol === "https" ? "https" : "http"), `    default_backend ${id}`]),
  ];
}

const answersChallenges = ({ protocol, port }: Listener, { acmeThumbprint }: LoadBalancerIntent): boolean =>
  protocol === "http" && port === acmePort && acmeThumbprint !== null;

/**
 * Before the redirect, and before clients are refused: a CA asks from addresses that nobody knows. The token is answered as
 * it came, so only what a token can be is taken.
 */
function challengeLines({ id, allowedCidrs }: Listener, { acmeThumbprint }: LoadBalancerIntent): string[] {
  return [
    `    http-request return status 200 content-type text/plain lf-string "%[path,field(-1,/)].${acmeThumbprint}" if { path_reg ^/\\.well-known/acme-challenge/[A-Za-z0-9_-]{1,128}$ }`,
    ...(allowedCidrs.length === 0
      ? []
      : [`    http-request deny deny_status 403 unless { src -f cidrs/${id}.list }`]),
  ];
}

/**
 * 308 and not 301, with which browsers make a GET of a POST. A request without a Host header or path cannot be sent
 * anywhere.
 */
function redirectLines({ listeners }: LoadBalancerIntent): string[] {
  const ports = listeners.filter(({ protocol }) => protocol === "https").map(({ port }) => port);
  const port = ports.includes(443) ? 443 : ports.toSorted((one, other) => one - other)[0];
  // Without an https listener, which is refused when it is written, there is nowhere to send anyone.
  if (port === undefined) return ["    http-request deny deny_status 400"];
  return [
    `    http-request redirect code 308 location https://%[req.hdr(host),host_only]${port === 443 ? "" : `:${port}`}%[pathq] if { req.hdr(host) -m found } { path_beg / }`,
    "    http-request deny deny_status 400",
  ];
}

/**
 * What a client says about itself is removed, in every spelling that programs behind CGI take for the same (`X_Forwarded_For`),
 * and `Proxy`, which such programs take for their own setting.
 */
function forwardedLines(port: number, scheme: "http" | "https"): string[] {
  return [
    "    http-request del-header ^x[-_]forwarded[-_] -m reg",
    "    http-request del-header Forwarded",
    "    http-request del-header X-Real-IP",
    "    http-request del-header Proxy",
    "    http-request set-header X-Forwarded-For %[src]",
    `    http-request set-header X-Forwarded-Proto ${scheme}`,
    `    http-request set-header X-Forwarded-Port ${port}`,
  ];
}

const balances = {
  round_robin: "roundrobin",
  least_connections: "leastconn",
  source_hash: "source",
} as const;

function backendLines(
  listener: Listener,
  intent: LoadBalancerIntent,
  servers: readonly NamedServer[],
): string[] {
  const { id, protocol, idleTimeoutSeconds, healthCheck } = listener;
  return [
    `backend ${id}`,
    `    mode ${isHttp(protocol) ? "http" : "tcp"}`,
    `    balance ${balances[intent.algorithm]}`,
    ...(intent.algorithm === "source_hash" ? ["    hash-type consistent"] : []),
    // A connection to a target is used for another client only after it has carried one request of its own.
    ...(isHttp(protocol) ? ["    http-reuse safe"] : []),
    `    timeout server ${idleTimeoutSeconds}s`,
    `    timeout tunnel ${idleTimeoutSeconds}s`,
    // haproxy gives a check the shorter of this and of its interval to connect, and no other time limit of tcp checks.
    `    timeout connect ${Math.min(defaultConnectSeconds, healthCheck.timeoutSeconds)}s`,
    `    timeout check ${healthCheck.timeoutSeconds}s`,
    ...checkLines(healthCheck),
    ...cookieLines(listener),
    ...serverLines(listener, intent, servers),
    "",
  ];
}

const defaultConnectSeconds = 5;

function checkLines({ protocol, path, host, expectedCodes }: HealthCheck): string[] {
  if (protocol === "tcp") return ["    option tcp-check"];
  const hostWord = host === null ? "%[bc_dst]" : `'${host}'`;
  return [
    "    option httpchk",
    `    http-check send meth GET uri '${path ?? defaultHttpCheck.path}' ver HTTP/1.1 hdr Host ${hostWord} hdr User-Agent Kule-Health-Check hdr Connection close`,
    `    http-check expect status ${expectedCodes ?? defaultHttpCheck.expectedCodes}`,
  ];
}

function cookieLines({ sticky, protocol }: Listener): string[] {
  if (sticky === null) return [];
  const secure = protocol === "https" ? " secure" : "";
  const maxidle = sticky.ttlSeconds === null ? "" : ` maxidle ${sticky.ttlSeconds}s`;
  return [`    cookie '${sticky.cookieName}' insert indirect nocache httponly${secure}${maxidle}`];
}
