import { inField, type Problem, shown } from "../domains/problem.ts";
import { isAllowed } from "./allowed-texts.ts";
import { type ExpectedCodesRule, readExpectedCodes } from "./expected-codes.ts";
import type { HealthCheck } from "./intent.ts";
import { checkLimits } from "./limits.ts";
import { type NumberRule, numberProblems, portProblems } from "./numbers.ts";

export type HealthCheckRule =
  | NumberRule
  | ExpectedCodesRule
  | "check_path"
  | "check_host"
  | "http_check_only"
  | "timeout_not_below_interval"
  | "check_port_missing";

/**
 * What is wrong with a health check.
 *
 * @param at JSON pointer of the check in what was sent, such as `/health_check`
 * @param listenerProtocol a protocol that no listener can have (it is told elsewhere) is checked as tcp
 */
export function healthCheckProblems(
  check: HealthCheck,
  listenerProtocol: string,
  at: string,
): Problem<HealthCheckRule>[] {
  return [
    ...(check.port === null ? [] : portProblems(check.port, `${at}/port`)),
    ...(check.protocol === "http" ? httpProblems(check, listenerProtocol, at) : tcpProblems(check, at)),
    ...timeProblems(check, at),
  ];
}

function httpProblems(check: HealthCheck, listenerProtocol: string, at: string): Problem<HealthCheckRule>[] {
  const found: Problem<HealthCheckRule>[] = [];
  const { path, host, expectedCodes, port } = check;
  if (path !== null && !isAllowed("path", path))
    found.push(
      inField(`${at}/path`, {
        rule: "check_path",
        message: `${shown(path)} is no path of a health check`,
        fix: "Enter a path such as /health of at most 200 letters, digits and /._~%!$&()*+,;=:@?-",
      }),
    );
  if (host !== null && !isAllowed("host", host))
    found.push(
      inField(`${at}/host`, {
        rule: "check_host",
        message: `${shown(host)} is no name of a host`,
        fix: "Enter a name such as www.example.com, or leave it out to send the target's address",
      }),
    );
  if (expectedCodes !== null) {
    const codes = readExpectedCodes(expectedCodes);
    if (!codes.ok) found.push(inField(`${at}/expected_codes`, codes.flaw));
  }
  if (listenerProtocol === "tls_passthrough" && port === null)
    found.push(
      inField(`${at}/port`, {
        rule: "check_port_missing",
        message: "The target port expects TLS, and an http check sends none",
        fix: "Enter the port of a plain HTTP check, or check with tcp",
      }),
    );
  return found;
}

const httpFields = [
  ["path", "path"],
  ["host", "host"],
  ["expectedCodes", "expected_codes"],
] as const;

function tcpProblems(check: HealthCheck, at: string): Problem<HealthCheckRule>[] {
  return httpFields
    .filter(([name]) => check[name] !== null)
    .map(([, field]) =>
      inField(`${at}/${field}`, {
        rule: "http_check_only",
        message: `A tcp check has no ${field}: it only connects`,
        fix: "Leave it out, or set the check's protocol to http",
      }),
    );
}

function timeProblems(check: HealthCheck, at: string): Problem<HealthCheckRule>[] {
  const { intervalSeconds, timeoutSeconds, healthyThreshold, unhealthyThreshold } = check;
  const found: Problem<HealthCheckRule>[] = [
    ...numberProblems(intervalSeconds, checkLimits.intervalSeconds, `${at}/interval_seconds`, "s"),
    ...numberProblems(timeoutSeconds, checkLimits.timeoutSeconds, `${at}/timeout_seconds`, "s"),
    ...numberProblems(healthyThreshold, checkLimits.threshold, `${at}/healthy_threshold`),
    ...numberProblems(unhealthyThreshold, checkLimits.threshold, `${at}/unhealthy_threshold`),
  ];
  if (timeoutSeconds >= intervalSeconds)
    found.push(
      inField(`${at}/timeout_seconds`, {
        rule: "timeout_not_below_interval",
        message: `A check of ${timeoutSeconds} s would not end before the next one, after ${intervalSeconds} s`,
        fix: "Enter a shorter timeout or a longer interval",
      }),
    );
  return found;
}
