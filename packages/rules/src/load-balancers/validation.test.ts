import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { readExpectedCodes } from "./expected-codes.ts";
import type { Listener } from "./intent.ts";
import { completeHealthCheck, maxListeners, maxTargets } from "./limits.ts";
import { type ListenerRequest, listenerProblems } from "./listener.ts";
import { checkLoadBalancer } from "./load-balancer.ts";
import { type TargetRequest, targetProblems } from "./target.ts";
import { anyIntent, hostileText, sampleListener } from "./testing/sample-intents.ts";

const request = (more: Partial<ListenerRequest> = {}): ListenerRequest => ({
  ...sampleListener,
  certificateIds: [],
  ...more,
});
const problemsOf = (more: Partial<ListenerRequest>) =>
  listenerProblems(request(more)).map(({ field, rule }) => `${field} ${rule}`);
const check = (more: object) => ({ healthCheck: { ...completeHealthCheck({}), ...more } });
const httpCheck = (more: object) => check({ protocol: "http", path: "/", expectedCodes: "200", ...more });

describe("a listener", () => {
  test("with the defaults is accepted", () => {
    expect(problemsOf({})).toEqual([]);
    expect(completeHealthCheck({})).toMatchObject({
      protocol: "tcp",
      port: null,
      intervalSeconds: 10,
      timeoutSeconds: 5,
      healthyThreshold: 3,
      unhealthyThreshold: 2,
    });
    expect(completeHealthCheck({ protocol: "http" })).toMatchObject({ path: "/", expectedCodes: "200-399" });
  });

  const sticky = { cookieName: "S", ttlSeconds: null };
  test.each<[string, Partial<ListenerRequest>, string[]]>([
    ["udp", { protocol: "udp" }, ["/protocol protocol_udp"]],
    ["an unknown protocol", { protocol: "smtp" }, ["/protocol protocol_unknown"]],
    ["port 22", { port: 22 }, ["/port port_reserved"]],
    ["the resolver's port", { port: 53 }, ["/port port_reserved"]],
    ["port 0", { port: 0 }, ["/port number_range"]],
    ["half a port", { targetPort: 80.5 }, ["/target_port number_range"]],
    ["https without certificates", { protocol: "https" }, ["/certificate_ids certificate_missing"]],
    ["http with one", { certificateIds: ["cert_a"] }, ["/certificate_ids certificate_not_here"]],
    [
      "passthrough with one",
      { protocol: "tls_passthrough", certificateIds: ["cert_a"] },
      ["/certificate_ids certificate_not_here"],
    ],
    [
      "a certificate twice",
      { protocol: "https", certificateIds: ["cert_a", "cert_b", "cert_a"] },
      ["/certificate_ids/2 certificate_twice"],
    ],
    [
      "21 certificates",
      { protocol: "https", certificateIds: Array.from({ length: 21 }, (_, index) => `cert_${index}`) },
      ["/certificate_ids too_many_certificates"],
    ],
    [
      "a redirect of tcp",
      { protocol: "tcp", redirectToHttps: true },
      ["/redirect_to_https redirect_http_only"],
    ],
    [
      "a redirect of passthrough",
      { protocol: "tls_passthrough", redirectToHttps: true },
      ["/redirect_to_https redirect_http_only"],
    ],
    ["a redirect with a cookie", { redirectToHttps: true, sticky }, ["/sticky redirect_sends_nothing"]],
    ["a cookie of tcp", { protocol: "tcp", sticky }, ["/sticky sticky_http_only"]],
    ["a cookie of passthrough", { protocol: "tls_passthrough", sticky }, ["/sticky sticky_http_only"]],
    [
      "a cookie's name and time",
      { sticky: { cookieName: "a b", ttlSeconds: 0 } },
      ["/sticky/cookie_name cookie_name", "/sticky/ttl_seconds number_range"],
    ],
    [
      "a cookie that browsers do not take without https",
      { sticky: { cookieName: "__Host-S", ttlSeconds: null } },
      ["/sticky/cookie_name cookie_needs_https"],
    ],
    ["no idle time", { idleTimeoutSeconds: 0 }, ["/idle_timeout_seconds number_range"]],
    [
      "blocks of addresses",
      { allowedCidrs: ["10.0.0.0/8", "10.0.0.1/8", "x", "10.0.0.0/8"] },
      ["/allowed_cidrs/1 cidr", "/allowed_cidrs/2 cidr", "/allowed_cidrs/3 cidr_twice"],
    ],
    [
      "101 blocks",
      { allowedCidrs: Array.from({ length: 101 }, () => "10.0.0.0/8") },
      ["/allowed_cidrs too_many_cidrs"],
    ],
    [
      "a timeout as long as the interval",
      check({ timeoutSeconds: 10 }),
      ["/health_check/timeout_seconds timeout_not_below_interval"],
    ],
    ["a tcp check with a path", check({ path: "/" }), ["/health_check/path http_check_only"]],
    [
      "a tcp check with codes and host",
      check({ host: "a", expectedCodes: "200" }),
      ["/health_check/host http_check_only", "/health_check/expected_codes http_check_only"],
    ],
    ["a path without a slash", httpCheck({ path: "health" }), ["/health_check/path check_path"]],
    ["a path with a quote", httpCheck({ path: "/'" }), ["/health_check/path check_path"]],
    ["a host with a blank", httpCheck({ host: "a b" }), ["/health_check/host check_host"]],
    [
      "codes that are none",
      httpCheck({ expectedCodes: "200-" }),
      ["/health_check/expected_codes expected_codes"],
    ],
    [
      "a plain check of TLS",
      { protocol: "tls_passthrough", ...httpCheck({}) },
      ["/health_check/port check_port_missing"],
    ],
    [
      "thresholds",
      check({ healthyThreshold: 0, unhealthyThreshold: 11 }),
      ["/health_check/healthy_threshold number_range", "/health_check/unhealthy_threshold number_range"],
    ],
  ])("is refused for %s, at its field", (_, more, expected) => {
    expect(problemsOf(more)).toEqual(expected);
  });

  test("names its place in a list, and says what to do", () => {
    const [problem] = listenerProblems(request({ port: 22 }), "/listeners/3");
    expect(problem?.field).toBe("/listeners/3/port");
    expect(problem?.fix).not.toBe("");
  });

  test("is refused for every hostile text, in words without control characters", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        fc.pre(!/^[!-~]+$/.test(text) || /['"#\\]/.test(text));
        const found = listenerProblems(
          request({
            sticky: { cookieName: text, ttlSeconds: null },
            allowedCidrs: [text],
            ...httpCheck({ path: text, host: text, expectedCodes: text }),
          }),
        );
        expect(found.map(({ field }) => field)).toEqual([
          "/sticky/cookie_name",
          "/allowed_cidrs/0",
          "/health_check/path",
          "/health_check/host",
          "/health_check/expected_codes",
        ]);
        for (const { message } of found) {
          expect(message.length).toBeLessThan(500);
          // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there
          expect(message).not.toMatch(/[\u0000-\u001f]/);
        }
      }),
    );
  });
});

test("codes are read as ranges, and one that ends before it begins is refused", () => {
  expect(readExpectedCodes("200-299,301")).toEqual({
    ok: true,
    value: [
      { first: 200, last: 299 },
      { first: 301, last: 301 },
    ],
  });
  expect(readExpectedCodes("299-200").ok).toBe(false);
  for (const text of ["", ",", "200,", "600", "99", "200-299-300", " 200", "200\n"])
    expect(readExpectedCodes(text).ok).toBe(false);
});

describe("a target", () => {
  const network = { cidrs: ["10.0.0.0/24"], ownAddresses: ["10.0.0.4"] };
  const target = (more: Partial<TargetRequest>): TargetRequest => ({
    serverId: null,
    labelSelector: null,
    address: null,
    weight: 1,
    backup: false,
    drain: false,
    ...more,
  });
  test.each<[Partial<TargetRequest>, string[]]>([
    [{ serverId: "srv_a" }, []],
    [{ labelSelector: "role=web" }, []],
    [{ address: "10.0.0.9" }, []],
    [{ address: "8.8.8.8" }, []],
    [{}, ["/server_id target_kind"]],
    [{ serverId: "srv_a", address: "10.0.0.9" }, ["/address target_kind"]],
    [{ labelSelector: "" }, ["/label_selector label_selector"]],
    [{ labelSelector: "a=b=c" }, ["/label_selector label_selector"]],
    [{ address: "10.0.0.4" }, ["/address target_address_own"]],
    [{ address: "10.0.1.1" }, ["/address target_address_elsewhere"]],
    [{ address: "169.254.169.254" }, ["/address target_address_elsewhere"]],
    [{ address: "127.0.0.1" }, ["/address target_address_elsewhere"]],
    [{ address: "2001:db8::1" }, ["/address target_address"]],
    [{ address: "10.0.0.9:80" }, ["/address target_address"]],
    [{ serverId: "srv_a", weight: 257 }, ["/weight number_range"]],
  ])("%j: %j", (more, expected) => {
    expect(targetProblems(target(more), network).map(({ field, rule }) => `${field} ${rule}`)).toEqual(
      expected,
    );
  });

  test("is there once, and only in numbers that one answer can have", () => {
    const checked = checkLoadBalancer(
      {
        listeners: [],
        targets: [
          target({ serverId: "srv_a" }),
          target({ serverId: "srv_a", weight: 2 }),
          ...Array.from({ length: maxTargets }, (_, index) => target({ serverId: `srv_${index}x` })),
        ],
      },
      network,
    );
    expect(checked.ok ? [] : checked.problems.map(({ field, rule }) => `${field} ${rule}`)).toEqual([
      "/targets too_many_targets",
      "/targets/1 target_twice",
    ]);
  });
});

describe("a load balancer", () => {
  const none = { cidrs: [], ownAddresses: [] };
  const together = (listeners: ListenerRequest[]) => {
    const checked = checkLoadBalancer({ listeners, targets: [] }, none);
    return checked.ok ? [] : checked.problems.map(({ field, rule }) => `${field} ${rule}`);
  };
  test("has each port once", () => {
    expect(together([request(), request({ port: 81 }), request({ protocol: "tcp" })])).toEqual([
      "/listeners/2/port port_twice",
    ]);
  });
  test("redirects only where it answers https", () => {
    const redirect = request({ redirectToHttps: true });
    expect(together([redirect])).toEqual(["/listeners/0/redirect_to_https redirect_without_https"]);
    expect(
      together([redirect, request({ port: 443, protocol: "https", certificateIds: ["cert_a"] })]),
    ).toEqual([]);
  });
  test("tells at most a hundred problems and how many listeners are too many", () => {
    const many = Array.from({ length: 300 }, () => request({ port: 22, targetPort: 0, protocol: "x" }));
    const checked = checkLoadBalancer({ listeners: many, targets: [] }, none);
    if (checked.ok) throw new Error("it was accepted");
    expect(checked.problems[0]).toMatchObject({ field: "/listeners", rule: "too_many_listeners" });
    expect(checked.problems.length + checked.moreProblems).toBe(1 + maxListeners * 3 + maxListeners - 1);
    expect(checked.problems.length).toBe(100);
  });
  test("that can be rendered is one that is accepted", () => {
    const asRequest = ({ certificates, ...listener }: Listener): ListenerRequest => ({
      ...listener,
      sticky: listener.redirectToHttps ? null : listener.sticky,
      proxyProtocol: listener.redirectToHttps ? "none" : listener.proxyProtocol,
      certificateIds: certificates.map(({ id }) => id),
    });
    fc.assert(
      fc.property(anyIntent, ({ listeners }) => {
        for (const listener of listeners)
          expect(
            listenerProblems(asRequest(listener)).filter(({ rule }) => rule !== "check_port_missing"),
          ).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });
});
