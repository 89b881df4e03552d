/** `udp` is missing on purpose: haproxy balances no datagrams. */
export type ListenerProtocol = "tcp" | "http" | "https" | "tls_passthrough";
export type Algorithm = "round_robin" | "least_connections" | "source_hash";
/** How targets learn the client's address of a connection. */
export type ProxyProtocol = "none" | "v1" | "v2";

/** A client's requests go to one target, which a cookie names. */
export type Sticky = {
  readonly cookieName: string;
  /** Without a request for so long the client is balanced anew; null: when its browser is closed. */
  readonly ttlSeconds: number | null;
};

export type HealthCheck = {
  readonly protocol: "tcp" | "http";
  /** Of the target; null: the listener's target port. */
  readonly port: number | null;
  /** Of http checks; null with tcp. */
  readonly path: string | null;
  /** The Host header of http checks; null: the target's address. */
  readonly host: string | null;
  /** Of http checks, such as `200-299,301`; null with tcp. */
  readonly expectedCodes: string | null;
  readonly intervalSeconds: number;
  readonly timeoutSeconds: number;
  /** Successes in a row until a target gets traffic. */
  readonly healthyThreshold: number;
  /** Failures in a row until it gets none. */
  readonly unhealthyThreshold: number;
};

/** What of a listener is the same in a request and in a configuration. */
export type ListenerSettings = {
  /** Once in a load balancer. */
  readonly port: number;
  readonly targetPort: number;
  /** Every request is answered with a redirect to the https listener. */
  readonly redirectToHttps: boolean;
  readonly sticky: Sticky | null;
  readonly proxyProtocol: ProxyProtocol;
  readonly idleTimeoutSeconds: number;
  /** Clients of other addresses are refused; none: all may connect. */
  readonly allowedCidrs: readonly string[];
  readonly healthCheck: HealthCheck;
};

/** A certificate that a listener answers with, and the names it is chosen by. */
export type ListenerCertificate = {
  readonly id: string;
  /** Canonical; `*.example.com` for a wildcard. */
  readonly domainNames: readonly string[];
};

export type Listener = ListenerSettings & {
  readonly id: string;
  readonly protocol: ListenerProtocol;
  readonly certificates: readonly ListenerCertificate[];
};

/** One address that gets traffic, whatever named it. */
export type ResolvedTarget = {
  readonly targetId: string;
  /** The server that a label selector has found; null for a target that names one server or address. */
  readonly selectedServerId: string | null;
  /** IPv4. */
  readonly address: string;
  /** 0 to 256; 0 is the same as `drain`. */
  readonly weight: number;
  /** It gets connections only while no other target is healthy. */
  readonly backup: boolean;
  /**
   * It gets no new connection and no new request, also from clients that a cookie binds to it; those that it has go on until
   * they end, as all do that are older than a change: at most 10 minutes (`hard-stop-after`).
   */
  readonly drain: boolean;
};

/** The address that both machines of a load balancer with `ha` can have, and what else moves with it. */
export type HighAvailability = {
  /** IPv4, in the subnet. */
  readonly virtualAddress: string;
  /** Of the subnet. */
  readonly prefixLength: number;
  /** 1 to 255, unique in the subnet: of two pairs with the same one each would take the other's address. */
  readonly vrid: number;
  readonly publicAddress: {
    readonly address: string;
    /** Of the public segment: what is in it is answered directly. */
    readonly prefixLength: number;
    /** Through which other answers leave; null: the machine has a route of its own. */
    readonly gateway: string | null;
    /** The guest's interface in the public segment. */
    readonly interfaceName: string;
  } | null;
};

/** Everything that a load balancer is to be. The order of its lists, other than of certificates, has no meaning. */
export type LoadBalancerIntent = {
  readonly id: string;
  readonly generation: number;
  readonly algorithm: Algorithm;
  readonly listeners: readonly Listener[];
  readonly targets: readonly ResolvedTarget[];
  readonly highAvailability: HighAvailability | null;
  /**
   * Of the ACME account's key, to answer HTTP-01 on port 80; null: no certificate is proven here, and targets may answer
   * challenges of their own.
   */
  readonly acmeThumbprint: string | null;
};

/** One of the servers that a load balancer runs on. */
export type Machine = {
  readonly slot: 1 | 2;
  /** IPv4, in the subnet. */
  readonly address: string;
  /** Of the other machine; null without `ha`. */
  readonly peerAddress: string | null;
  /** The guest's interface in the subnet. */
  readonly interfaceName: string;
  /** By the package: a connection needs about 34 KiB of memory at haproxy, two with TLS. */
  readonly maxConnections: number;
};
