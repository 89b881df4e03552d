import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serverIdentity } from "@kule/lab/certificate";
import { readAcmeExternalAccount, readAcmeFile } from "@kule/region-config/acme-file";
import { afterAll, beforeAll, expect, test } from "vitest";
import { controlPlaneCaEnv, labCaEnv, writeAcmeFile } from "./lab-ca.ts";

let folder = "";
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "kule-quickstart-ca-"));
});
afterAll(() => rmSync(folder, { recursive: true }));

test("the ACME file is one that an operator could have written, and holds no key", () => {
  const path = join(folder, "acme.yaml");
  const { certificatePem } = serverIdentity(folder, ["127.0.0.1"], new Date());
  const server_certificate = join(folder, "server.pem");
  writeFileSync(server_certificate, certificatePem);
  const directory = "https://127.0.0.1:14000/dir";
  writeAcmeFile(path, { directory, server_certificate, root_certificate: "" });
  expect(readAcmeFile(path)).toEqual({
    directoryUrl: directory,
    contactEmails: [],
    network: "any",
    rootsPem: certificatePem,
  });
  expect(readAcmeExternalAccount(path, {})).toBeNull();
});

test("the key of the account at the CA is the worker's alone", () => {
  const { api, worker } = controlPlaneCaEnv("/x/acme.yaml", "swordfish");
  expect(JSON.stringify(api)).not.toContain("swordfish");
  expect(worker).toEqual({ KULE_MASTER_KEY: "swordfish" });
});

test("the CA looks at the lab's name server", () => {
  expect(labCaEnv("/x", { port: 1, managementPort: 2, dnsPort: 5300 })).toMatchObject({
    KULE_LAB_CA_DNS: "127.0.0.1:5300",
  });
});
