import fc from "fast-check";
import type {
  Algorithm,
  HealthCheck,
  HighAvailability,
  Listener,
  ListenerProtocol,
  LoadBalancerIntent,
  Machine,
  ProxyProtocol,
  ResolvedTarget,
} from "../intent.ts";
import { completeHealthCheck, defaultIdleTimeoutSeconds, isHttp, reservedPorts } from "../limits.ts";

const letters = "0123456789abcdefghjkmnpqrstvwxyz";
const idPart = fc.string({ unit: fc.constantFrom(...letters), minLength: 8, maxLength: 26 });
const ids = (prefix: string) => idPart.map((part) => `${prefix}_${part}`);
const pathCharacters = `${letters}ABCXYZ/._~%!$&()*+,;=:@?-`;

const anyPort = fc.oneof(
  fc.constantFrom(80, 443, 8080),
  fc.integer({ min: 1, max: 65_535 }).filter((port) => !reservedPorts.has(port)),
);
const anyAddress = fc.ipV4().filter((address) => !address.startsWith("0."));
const anyLabel = fc.string({ unit: fc.constantFrom(...letters), minLength: 1, maxLength: 12 });
const anyName = fc
  .tuple(anyLabel, anyLabel, fc.boolean())
  .map(([one, other, isWildcard]) => `${isWildcard ? "*." : ""}${one}.${other}.example`);
const anyPath = fc.oneof(
  fc.constant("/"),
  fc.string({ unit: fc.constantFrom(...pathCharacters), maxLength: 199 }).map((rest) => `/${rest}`),
);
const anyCodes = fc.constantFrom("200", "200-399", "200-299,301", "100-599,204,404-410");
const anyBlock = fc.oneof(
  fc.constantFrom("0.0.0.0/0", "10.0.0.0/8", "192.0.2.7/32", "::/0", "2001:db8::/32", "2001:db8::1/128"),
  fc.ipV4().map((address) => `${address}/32`),
);

const anyCheck: fc.Arbitrary<HealthCheck> = fc
  .record({
    protocol: fc.constantFrom("tcp", "http") as fc.Arbitrary<HealthCheck["protocol"]>,
    port: fc.option(anyPort),
    path: anyPath,
    host: fc.option(fc.constantFrom("www.example.com", "a", "10.0.0.1", "X.example")),
    expectedCodes: anyCodes,
    intervalSeconds: fc.integer({ min: 2, max: 300 }),
    healthyThreshold: fc.integer({ min: 1, max: 10 }),
    unhealthyThreshold: fc.integer({ min: 1, max: 10 }),
  })
  .map((check) => ({
    ...check,
    timeoutSeconds: Math.min(60, check.intervalSeconds - 1),
    ...(check.protocol === "tcp" ? { path: null, host: null, expectedCodes: null } : {}),
  }));

const anyListener: fc.Arbitrary<Listener> = fc
  .record({
    id: ids("lsn"),
    protocol: fc.constantFrom("tcp", "http", "https", "tls_passthrough") as fc.Arbitrary<ListenerProtocol>,
    port: anyPort,
    targetPort: anyPort,
    certificates: fc.uniqueArray(
      fc.record({
        id: ids("cert"),
        domainNames: fc.uniqueArray(anyName, { minLength: 1, maxLength: 6 }),
      }),
      { selector: ({ id }) => id, minLength: 1, maxLength: 3 },
    ),
    redirectToHttps: fc.boolean(),
    sticky: fc.option(
      fc.record({
        cookieName: fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/),
        ttlSeconds: fc.option(fc.integer({ min: 1, max: 2_592_000 })),
      }),
    ),
    proxyProtocol: fc.constantFrom("none", "v1", "v2") as fc.Arbitrary<ProxyProtocol>,
    idleTimeoutSeconds: fc.integer({ min: 1, max: 4_000 }),
    allowedCidrs: fc.uniqueArray(anyBlock, { maxLength: 5 }),
    healthCheck: anyCheck,
  })
  .map((listener) => ({
    ...listener,
    certificates: listener.protocol === "https" ? listener.certificates : [],
    redirectToHttps: listener.redirectToHttps && listener.protocol === "http",
    sticky: isHttp(listener.protocol) ? listener.sticky : null,
  }));

const anyTarget: fc.Arbitrary<ResolvedTarget> = fc.record({
  targetId: ids("tgt"),
  selectedServerId: fc.option(ids("srv")),
  address: anyAddress,
  weight: fc.integer({ min: 0, max: 256 }),
  backup: fc.boolean(),
  drain: fc.boolean(),
});

const anyHighAvailability: fc.Arbitrary<HighAvailability> = fc.record({
  virtualAddress: fc.constant("10.0.0.4"),
  prefixLength: fc.integer({ min: 8, max: 30 }),
  vrid: fc.integer({ min: 1, max: 255 }),
  publicAddress: fc.option(
    fc.record({
      address: fc.constant("203.0.113.5"),
      prefixLength: fc.integer({ min: 8, max: 32 }),
      gateway: fc.option(fc.constant("203.0.113.1")),
      interfaceName: fc.constant("eth1"),
    }),
  ),
});

/** What validation accepts, of every kind. */
export const anyIntent: fc.Arbitrary<LoadBalancerIntent> = fc.record({
  id: ids("lb"),
  generation: fc.integer({ min: 1, max: 2_147_483_647 }),
  algorithm: fc.constantFrom("round_robin", "least_connections", "source_hash") as fc.Arbitrary<Algorithm>,
  listeners: fc
    .uniqueArray(anyListener, { selector: ({ port }) => port, maxLength: 8 })
    .filter((listeners) => new Set(listeners.map(({ id }) => id)).size === listeners.length),
  targets: fc.uniqueArray(anyTarget, {
    selector: ({ targetId, selectedServerId }) => `${targetId}.${selectedServerId}`,
    maxLength: 12,
  }),
  highAvailability: fc.option(anyHighAvailability),
  acmeThumbprint: fc.option(fc.constant("LPJNul-wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ")),
});

export const sampleMachine: Machine = {
  slot: 1,
  address: "10.0.0.2",
  peerAddress: "10.0.0.3",
  interfaceName: "eth0",
  maxConnections: 20_000,
};

export const sampleListener: Listener = {
  id: "lsn_web",
  protocol: "http",
  port: 80,
  targetPort: 8080,
  certificates: [],
  redirectToHttps: false,
  sticky: null,
  proxyProtocol: "none",
  idleTimeoutSeconds: defaultIdleTimeoutSeconds,
  allowedCidrs: [],
  healthCheck: completeHealthCheck({}),
};

export const sampleTarget: ResolvedTarget = {
  targetId: "tgt_one",
  selectedServerId: null,
  address: "10.0.0.11",
  weight: 1,
  backup: false,
  drain: false,
};

export const sampleIntent: LoadBalancerIntent = {
  id: "lb_sample",
  generation: 7,
  algorithm: "round_robin",
  listeners: [sampleListener],
  targets: [sampleTarget],
  highAvailability: null,
  acmeThumbprint: null,
};

/** The same ones for the same seed. */
export const sampleIntents = (count: number, seed: number): LoadBalancerIntent[] =>
  fc.sample(anyIntent, { numRuns: count, seed });

/** Texts that mean something to haproxy, keepalived, a shell or a terminal, and long and broken ones. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    "\n    server evil 6.6.6.6:80\n",
    "/\n    stats socket ipv4@0.0.0.0:1 level admin",
    "/x'\n    http-request deny\n'",
    "/' hdr X evil",
    '/" hdr X evil',
    "/ # comment",
    "/\\\n",
    "/\r\nX: y",
    "/\u0000",
    "/\u2028global",
    "/é",
    "$HOME",
    "%[env(HOME)]",
    "a b",
    "a;reboot",
    "../../../etc/shadow",
    "`id`",
    "1.1.1.1 } accept {",
    "10.0.0.0/8\n0.0.0.0/0",
    "example.com\ncertificates/cert_other.pem",
    "200\n    http-check expect status 500",
    "lsn_web\nbackend lsn_evil",
    "",
    " ",
    "\ud800",
    `/${"a".repeat(100_000)}`,
  ),
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.string({
    unit: fc.constantFrom("\n", "\r", "'", '"', "#", "\\", "\u0000", " ", "/", "a", "%", "{", "}"),
  }),
);
