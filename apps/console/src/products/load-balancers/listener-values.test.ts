import { expect, test } from "vitest";
import { listenerBody, listenerFieldOf, newListener, valuesOf } from "./listener-values.ts";

const filled = {
  ...newListener,
  port: "443",
  certificate_ids: "cert_1, cert_2",
  sticky: "on",
  redirect_to_https: "on",
};

test("a listener is sent with what belongs to its protocol, whatever was typed for another one before", () => {
  const https = listenerBody({ ...filled, protocol: "https", path: "/up" });
  expect(https).toMatchObject({
    port: 443,
    target_port: 443,
    certificate_ids: ["cert_1", "cert_2"],
    redirect_to_https: false,
    sticky: { cookie_name: "SERVERID", ttl_seconds: null },
  });
  expect(https.health_check).not.toHaveProperty("path");
  expect(listenerBody({ ...filled, protocol: "tcp" })).toMatchObject({
    certificate_ids: [],
    redirect_to_https: false,
    sticky: null,
  });
  expect(listenerBody({ ...filled, protocol: "http", check_protocol: "http", path: "/up" })).toMatchObject({
    certificate_ids: [],
    redirect_to_https: true,
    health_check: { protocol: "http", path: "/up", port: null },
  });
});

test("what is no number is sent as it was typed, so that the API refuses it at its field", () => {
  expect(listenerBody({ ...filled, port: "https", interval_seconds: "" })).toMatchObject({
    port: "https",
    target_port: "https",
    health_check: { interval_seconds: "" },
  });
});

test("the form of a listener sends it unchanged when nothing was changed in it", () => {
  const sent = listenerBody({
    ...newListener,
    protocol: "tcp",
    port: "5432",
    allowed_cidrs: "10.0.0.0/8 192.0.2.0/24",
  });
  const stored = {
    ...sent,
    id: "lsn_1",
    load_balancer_id: "lb_1",
    created_at: "",
    updated_at: "",
    health_check: { path: null, host: null, expected_codes: null, ...sent.health_check },
  };
  expect(listenerBody(valuesOf(stored as unknown as Parameters<typeof valuesOf>[0]))).toEqual(sent);
});

test.each([
  ["/port", "port"],
  ["/health_check/port", "check_port"],
  ["/health_check/path", "path"],
  ["/health_check", "check_protocol"],
  ["/sticky", "sticky"],
  ["/sticky/cookie_name", "cookie_name"],
  ["/certificate_ids/1", "certificate_ids"],
  ["/something", null],
])("an error at %s stands at the field %s", (pointer, field) => {
  expect(listenerFieldOf(pointer)).toBe(field);
});
