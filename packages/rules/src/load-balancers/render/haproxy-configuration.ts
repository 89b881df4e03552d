import type { LoadBalancerIntent, Machine } from "../intent.ts";
import { listenerSections } from "./listener-sections.ts";
import type { NamedServer } from "./server-lines.ts";

/** The lines of haproxy.cfg for haproxy 2.6. Files are named relative to it. */
export function haproxyLines(
  intent: LoadBalancerIntent,
  machine: Machine,
  servers: readonly NamedServer[],
): string[] {
  const listeners = intent.listeners.toSorted((one, other) => one.port - other.port);
  return [
    ...globalLines(intent, machine),
    ...defaultsLines,
    ...listeners.flatMap((listener) => listenerSections(listener, intent, servers)),
  ];
}

/** Only those with forward secrecy and authenticated encryption; those of TLS 1.3 are OpenSSL's own. */
const ciphers = [
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
];

function globalLines({ generation }: LoadBalancerIntent, { maxConnections }: Machine): string[] {
  return [
    "global",
    "    default-path config",
    `    setenv KULE_GENERATION ${generation}`,
    "    user haproxy",
    "    group haproxy",
    "    chroot /var/lib/haproxy",
    // Changes of targets, and no requests: the journal of a small disk would be full of them.
    "    log stdout format raw daemon notice",
    `    maxconn ${maxConnections}`,
    // A machine that allows fewer open files than so many connections need serves fewer of them, instead of none.
    "    no strict-limits",
    "    hard-stop-after 10m",
    "    stats socket /run/kule-lb/admin.sock mode 600 level admin expose-fd listeners",
    "    server-state-file /run/kule-lb/server-state",
    "    ssl-default-bind-options ssl-min-ver TLSv1.2 no-tls-tickets",
    `    ssl-default-bind-ciphers ${ciphers.join(":")}`,
    "",
  ];
}

const defaultsLines = [
  "defaults",
  "    log global",
  "    load-server-state-from-file global",
  "    option redispatch",
  // Bytes of connections that stay open for hours are counted while they are, and not when they end.
  "    option contstats",
  "    retries 3",
  "    timeout connect 5s",
  "    timeout queue 30s",
  // Of the headers of a request: a client that sends them byte by byte holds a connection no longer.
  "    timeout http-request 30s",
  "    timeout client-fin 30s",
  "    timeout server-fin 30s",
  "",
];
