import type { RequestBody, Schemas } from "@kule/contract/schemas";
import { defaultHealthCheck, defaultIdleTimeoutSeconds } from "@kule/rules/load-balancers/limits";
import { typedList, typedNumber } from "../../posted-form.ts";

/** The fields of a listener's form; a checkbox that is not sent is empty. */
export const listenerFields = [
  "protocol",
  "port",
  "target_port",
  "certificate_ids",
  "redirect_to_https",
  "sticky",
  "cookie_name",
  "ttl_seconds",
  "proxy_protocol",
  "idle_timeout_seconds",
  "allowed_cidrs",
  "check_protocol",
  "check_port",
  "path",
  "host",
  "expected_codes",
  "interval_seconds",
  "timeout_seconds",
  "healthy_threshold",
  "unhealthy_threshold",
] as const;

export type ListenerValues = Readonly<Record<(typeof listenerFields)[number], string>>;

export const protocols = ["http", "https", "tcp", "tls_passthrough"] as const;
export const proxyProtocols = ["none", "v1", "v2"] as const;
export const checkProtocols = ["tcp", "http"] as const;

const newCheck = defaultHealthCheck;

export const newListener: ListenerValues = {
  protocol: "http",
  port: "",
  target_port: "",
  certificate_ids: "",
  redirect_to_https: "",
  sticky: "",
  cookie_name: "SERVERID",
  ttl_seconds: "",
  proxy_protocol: "none",
  idle_timeout_seconds: String(defaultIdleTimeoutSeconds),
  allowed_cidrs: "",
  check_protocol: newCheck.protocol,
  check_port: "",
  path: "",
  host: "",
  expected_codes: "",
  interval_seconds: String(newCheck.intervalSeconds),
  timeout_seconds: String(newCheck.timeoutSeconds),
  healthy_threshold: String(newCheck.healthyThreshold),
  unhealthy_threshold: String(newCheck.unhealthyThreshold),
};

const text = (value: string | number | null | undefined) => (value == null ? "" : String(value));

export function valuesOf(listener: Schemas["Listener"]): ListenerValues {
  const { sticky, health_check: check } = listener;
  return {
    protocol: listener.protocol,
    port: String(listener.port),
    target_port: String(listener.target_port),
    certificate_ids: listener.certificate_ids.join("\n"),
    redirect_to_https: listener.redirect_to_https ? "on" : "",
    sticky: sticky === null ? "" : "on",
    cookie_name: sticky?.cookie_name ?? newListener.cookie_name,
    ttl_seconds: text(sticky?.ttl_seconds),
    proxy_protocol: listener.proxy_protocol,
    idle_timeout_seconds: String(listener.idle_timeout_seconds),
    allowed_cidrs: listener.allowed_cidrs.join("\n"),
    check_protocol: check.protocol,
    check_port: text(check.port),
    path: text(check.path),
    host: text(check.host),
    expected_codes: text(check.expected_codes),
    interval_seconds: String(check.interval_seconds),
    timeout_seconds: String(check.timeout_seconds),
    healthy_threshold: String(check.healthy_threshold),
    unhealthy_threshold: String(check.unhealthy_threshold),
  };
}

/**
 * The whole listener, so that what was emptied or does not belong to its protocol is set back. What the form does not show
 * for a protocol is not sent.
 */
export function listenerBody(values: ListenerValues): RequestBody<"createListener"> {
  const { protocol, port, target_port } = values;
  const isHttp = protocol === "http" || protocol === "https";
  return {
    protocol,
    port: typedNumber(port),
    target_port: typedNumber(target_port === "" ? port : target_port),
    certificate_ids: protocol === "https" ? typedList(values.certificate_ids) : [],
    redirect_to_https: protocol === "http" && values.redirect_to_https !== "",
    sticky: isHttp && values.sticky !== "" ? stickyOf(values) : null,
    proxy_protocol: values.proxy_protocol as "none",
    idle_timeout_seconds: typedNumber(values.idle_timeout_seconds),
    allowed_cidrs: typedList(values.allowed_cidrs),
    health_check: healthCheckOf(values),
  };
}

function stickyOf({ cookie_name, ttl_seconds }: ListenerValues): Schemas["Sticky"] {
  return { cookie_name, ttl_seconds: ttl_seconds === "" ? null : typedNumber(ttl_seconds) };
}

function healthCheckOf(values: ListenerValues): Schemas["HealthCheckSettings"] {
  const { path, host, expected_codes } = values;
  const ofHttp = {
    ...(path === "" ? {} : { path }),
    ...(host === "" ? {} : { host }),
    ...(expected_codes === "" ? {} : { expected_codes }),
  };
  return {
    protocol: values.check_protocol as "tcp",
    port: values.check_port === "" ? null : typedNumber(values.check_port),
    ...(values.check_protocol === "http" ? ofHttp : {}),
    interval_seconds: typedNumber(values.interval_seconds),
    timeout_seconds: typedNumber(values.timeout_seconds),
    healthy_threshold: typedNumber(values.healthy_threshold),
    unhealthy_threshold: typedNumber(values.unhealthy_threshold),
  };
}

/** The field of the form for a pointer into the body. */
export function listenerFieldOf(pointer: string): string | null {
  const [, name = "", inner] = pointer.split("/");
  if (name === "health_check")
    return inner === "protocol" || inner === "port" ? `check_${inner}` : (inner ?? "check_protocol");
  if (name === "sticky") return inner ?? "sticky";
  return listenerFields.find((field) => field === name) ?? null;
}
