import type { FieldError } from "@kule/contract/field-errors";
import type { RequestBody } from "@kule/contract/schemas";
import { findPackage, packages } from "@kule/rules/catalog/packages";
import type { Problem } from "@kule/rules/domains/problem";
import type { HealthCheck } from "@kule/rules/load-balancers/intent";
import { completeHealthCheck, defaultIdleTimeoutSeconds } from "@kule/rules/load-balancers/limits";
import type { ListenerRequest } from "@kule/rules/load-balancers/listener";
import type { LoadBalancerRule } from "@kule/rules/load-balancers/load-balancer";
import type { TargetRequest } from "@kule/rules/load-balancers/target";
import { fieldError } from "../../platform/errors.ts";

export type ListenerBody = Partial<RequestBody<"createListener">>;
export type TargetBody = Partial<RequestBody<"createTarget">>;

const codes: { readonly [rule in LoadBalancerRule]: FieldError["code"] } = {
  number_range: "out_of_range",
  expected_codes: "invalid_format",
  check_path: "invalid_format",
  check_host: "invalid_format",
  http_check_only: "conflicts_with",
  timeout_not_below_interval: "conflicts_with",
  check_port_missing: "required",
  protocol_unknown: "not_one_of",
  protocol_udp: "not_one_of",
  port_reserved: "out_of_range",
  certificate_missing: "required",
  certificate_not_here: "conflicts_with",
  certificate_twice: "duplicate",
  too_many_certificates: "too_long",
  redirect_http_only: "conflicts_with",
  redirect_sends_nothing: "conflicts_with",
  sticky_http_only: "conflicts_with",
  cookie_name: "invalid_format",
  cookie_needs_https: "conflicts_with",
  cidr: "invalid_format",
  cidr_twice: "duplicate",
  too_many_cidrs: "too_long",
  target_kind: "conflicts_with",
  target_address: "invalid_format",
  target_address_own: "conflicts_with",
  target_address_elsewhere: "conflicts_with",
  label_selector: "invalid_format",
  too_many_listeners: "too_long",
  port_twice: "duplicate",
  redirect_without_https: "conflicts_with",
  too_many_targets: "too_long",
  target_twice: "duplicate",
};

/** What is wrong with the package that a body names. */
export const packageErrors = (slug: string | undefined): FieldError[] =>
  slug === undefined || findPackage(slug) !== undefined
    ? []
    : [
        fieldError(
          "/package",
          "not_one_of",
          `must be one of: ${packages.map((each) => each.slug).join(", ")}`,
        ),
      ];

/** What the rules find wrong, as the API says it: in place and with what to do. */
export const errorOf = ({ field, rule, message, fix }: Problem<LoadBalancerRule>): FieldError =>
  fieldError(field, codes[rule], `${message}. ${fix}`);

/** A listener of a request that the contract has accepted, completed with the defaults. */
export function listenerOf(body: RequestBody<"createListener">): ListenerRequest {
  return {
    protocol: body.protocol,
    port: body.port,
    targetPort: body.target_port ?? body.port,
    certificateIds: body.certificate_ids ?? [],
    redirectToHttps: body.redirect_to_https ?? false,
    sticky:
      body.sticky == null
        ? null
        : { cookieName: body.sticky.cookie_name, ttlSeconds: body.sticky.ttl_seconds ?? null },
    proxyProtocol: body.proxy_protocol ?? "none",
    idleTimeoutSeconds: body.idle_timeout_seconds ?? defaultIdleTimeoutSeconds,
    allowedCidrs: body.allowed_cidrs ?? [],
    healthCheck: healthCheckOf(body.health_check ?? {}),
  };
}

export function healthCheckOf(given: NonNullable<ListenerBody["health_check"]>): HealthCheck {
  const named: { -readonly [name in keyof HealthCheck]?: HealthCheck[name] } = {};
  if (given.protocol !== undefined) named.protocol = given.protocol;
  if (given.port !== undefined) named.port = given.port;
  if (given.path !== undefined) named.path = given.path;
  if (given.host !== undefined) named.host = given.host;
  if (given.expected_codes !== undefined) named.expectedCodes = given.expected_codes;
  if (given.interval_seconds !== undefined) named.intervalSeconds = given.interval_seconds;
  if (given.timeout_seconds !== undefined) named.timeoutSeconds = given.timeout_seconds;
  if (given.healthy_threshold !== undefined) named.healthyThreshold = given.healthy_threshold;
  if (given.unhealthy_threshold !== undefined) named.unhealthyThreshold = given.unhealthy_threshold;
  return completeHealthCheck(named);
}

export const targetOf = (body: TargetBody): TargetRequest => ({
  serverId: body.server_id ?? null,
  labelSelector: body.label_selector ?? null,
  address: body.address ?? null,
  weight: body.weight ?? 1,
  backup: body.backup ?? false,
  drain: body.drain ?? false,
});
