import { expect, test } from "vitest";
import { createBody, createFieldOf, fitted, freshCreateForm } from "./create-values.ts";

const choices = {
  networks: [
    { id: "net_a", region: "ist1", subnets: [{ id: "sub_data", tier: "data" as const }] },
    { id: "net_b", region: "ank1", subnets: [{ id: "sub_app", tier: "app" as const }] },
  ],
  packages: [{ slug: "s" }, { slug: "m" }],
  publicIps: [{ id: "ip_ist", region: "ist1" }],
  certificates: [{ id: "cert_ist", region: "ist1" }],
};

test("a fresh form has the first subnet for servers and the smallest package", () => {
  expect(fitted(freshCreateForm, choices)).toMatchObject({ subnet_id: "sub_app", package: "s" });
});

test("an address or certificate of another region than the subnet's is left out while a person chooses", () => {
  const form = { ...freshCreateForm, public_ip: "ip_ist", certificate_ids: "cert_ist" };
  const elsewhere = fitted({ ...form, subnet_id: "sub_app" }, choices);
  expect(elsewhere).toMatchObject({ public_ip: "", certificate_ids: "" });
  const there = fitted({ ...form, subnet_id: "sub_data" }, choices);
  expect(there).toMatchObject({ public_ip: "ip_ist", certificate_ids: "cert_ist" });
});

const form = {
  ...freshCreateForm,
  name: "front",
  subnet_id: "sub_app",
  label_selector: "role=web",
  serverIds: ["srv_1", "srv_2"],
  addresses: "10.0.0.7",
};

test("everything that was named is a target, and an error stands at the field that named it", () => {
  expect(createBody(form).targets).toEqual([
    { label_selector: "role=web" },
    { server_id: "srv_1" },
    { server_id: "srv_2" },
    { address: "10.0.0.7" },
  ]);
  const fields = ["/targets/0/label_selector", "/targets/2", "/targets/3/address", "/targets/9"];
  expect(fields.map((pointer) => createFieldOf(form, pointer))).toEqual([
    "label_selector",
    "server_ids",
    "addresses",
    null,
  ]);
  expect(createFieldOf(form, "/listeners/0/certificate_ids/1")).toBe("certificate_ids");
  expect(createFieldOf(form, "/name")).toBe("name");
});

test("without a port there is no listener, and what is no number goes to the API as it was typed", () => {
  expect(createBody({ ...form, port: "" })).not.toHaveProperty("listeners");
  expect(createBody({ ...form, port: "web" }).listeners).toEqual([{ protocol: "http", port: "web" }]);
});
