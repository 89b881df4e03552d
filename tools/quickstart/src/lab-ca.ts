import { writeFileSync } from "node:fs";

/** The lab CA's description of itself in ca.json. */
export interface LabCaDescription {
  /** The URL of its ACME directory. */
  directory: string;
  /** The file with what signs the certificate of its own server. */
  server_certificate: string;
  /** The file with what signs the certificates that it issues. */
  root_certificate: string;
}

/** Where the lab's CA listens, and which name server it asks. */
export interface LabCaAccess {
  readonly port: number;
  readonly managementPort: number;
  readonly dnsPort: number;
}

/** The environment of the CA's process. */
export function labCaEnv(dataDir: string, access: LabCaAccess): Record<string, string> {
  return {
    KULE_LAB_CA_DIR: dataDir,
    KULE_LAB_CA_PORT: String(access.port),
    KULE_LAB_CA_MANAGEMENT_PORT: String(access.managementPort),
    KULE_LAB_CA_DNS: `127.0.0.1:${access.dnsPort}`,
  };
}

/** What both need to know the CA, and the key of its account, which is the worker's alone. */
export function controlPlaneCaEnv(
  file: string,
  masterKey: string,
): { readonly api: Record<string, string>; readonly worker: Record<string, string> } {
  return { api: { KULE_ACME_FILE: file }, worker: { KULE_MASTER_KEY: masterKey } };
}

/** Writes the ACME file with which API and worker use the lab's CA, in the form that an operator would write. */
export function writeAcmeFile(path: string, { directory, server_certificate }: LabCaDescription): void {
  const lines = [
    "# The lab's CA of `npm start`, written at every start. docs/acme.md explains every key.",
    `directory: ${directory}`,
    "agrees_to_terms: true",
    "network: any",
    // JSON is YAML, whatever the path has in it.
    `ca_file: ${JSON.stringify(server_certificate)}`,
  ];
  writeFileSync(path, `${lines.join("\n")}\n`);
}
