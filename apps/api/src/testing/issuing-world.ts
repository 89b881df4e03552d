import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeCertificateRequest } from "@kule/certificates/certificate-request";
import { type Pebble, startPebble } from "@kule/certificates/testing/pebble";
import type { PayloadOf, Schemas } from "@kule/contract/schemas";
import { type CrashHook, noCrash } from "@kule/crash-points/crash-hook";
import { readAcmeFile } from "@kule/region-config/acme-file";
import { type SealingKeyPair, sealSecret } from "@kule/sealed-secret/sealed-secret";
import { withCrashPoints } from "../platform/crash-points.ts";
import type { Deps } from "../platform/deps.ts";
import { certificateHooks } from "../products/certificate-hooks.ts";
import {
  type CertificateAuthority,
  lookAfterCertificates,
  stepOrder,
} from "../products/certificates/index.ts";
import { openCertificateAuthority } from "../worker/certificate-authority.ts";
import type { ApiCaller } from "./api-caller.ts";
import type { Replica, TestOrganisation } from "./api-world.ts";
import { reportSealingKey } from "./made-upload.ts";
import { ServedDomainWorld } from "./served-domain-world.ts";
import { TestAgent } from "./test-agent.ts";

/** A CA other than pebble. */
type GivenCa = Pick<Pebble, "directoryUrl" | "identity" | "close">;

/**
 * The API with domains that are served, a real CA that looks at them, a region whose agent makes keys, and the worker's steps,
 * made one by one.
 */
export class IssuingWorld {
  readonly served: ServedDomainWorld;
  readonly #running: GivenCa;
  readonly #pebble: Pebble | null;
  readonly organisation: TestOrganisation;
  /** At a replica that knows the CA. */
  readonly owner: ApiCaller;
  readonly deps: Deps;
  /** That replica. */
  readonly app: Replica["app"];
  readonly agent: TestAgent;
  readonly agentKey: SealingKeyPair;
  readonly ca: CertificateAuthority;
  readonly masterKey: string;
  readonly acmePath: string;
  readonly #folder: string;
  #named = 0;

  private constructor(parts: {
    served: ServedDomainWorld;
    running: GivenCa;
    pebble: Pebble | null;
    organisation: TestOrganisation;
    owner: ApiCaller;
    deps: Deps;
    app: Replica["app"];
    agent: TestAgent;
    agentKey: SealingKeyPair;
    ca: CertificateAuthority;
    masterKey: string;
    acmePath: string;
    folder: string;
  }) {
    this.served = parts.served;
    this.#running = parts.running;
    this.#pebble = parts.pebble;
    this.organisation = parts.organisation;
    this.owner = parts.owner;
    this.deps = parts.deps;
    this.app = parts.app;
    this.agent = parts.agent;
    this.agentKey = parts.agentKey;
    this.ca = parts.ca;
    this.masterKey = parts.masterKey;
    this.acmePath = parts.acmePath;
    this.#folder = parts.folder;
  }

  /** @param startCa another CA than pebble, which asks that name server */
  static async open(
    refusedNoncesPercent = 0,
    startCa?: (dnsServer: string) => Promise<GivenCa>,
  ): Promise<IssuingWorld> {
    const served = await ServedDomainWorld.open();
    const dnsServer = `${served.lab.address}:${served.lab.dnsPort}`;
    const pebble = startCa === undefined ? await startPebble({ dnsServer, refusedNoncesPercent }) : null;
    const running = pebble ?? (await startCa?.(dnsServer));
    if (running === undefined) throw new Error("there is no CA");
    const folder = mkdtempSync(join(tmpdir(), "kule-issuing-"));
    writeFileSync(join(folder, "ca.pem"), running.identity.certificatePem);
    const acmePath = join(folder, "acme.yaml");
    writeFileSync(
      acmePath,
      `directory: ${running.directoryUrl}\nagrees_to_terms: true\nnetwork: any\nca_file: ca.pem\n`,
    );
    const file = readAcmeFile(acmePath);
    if (typeof file === "string") throw new Error(file);
    const acme = { path: acmePath, file };
    const masterKey = randomBytes(32).toString("base64");
    const { app, deps } = await served.world.addReplica({
      acme,
      dns: served.world.replica.deps.settings.dns,
    });
    const organisation = await served.addOrganisation("acme");
    const region = await served.world.addRegion("r1");
    served.startWorker();
    return new IssuingWorld({
      served,
      running,
      pebble,
      organisation,
      owner: organisation.owner.at(app),
      deps,
      app,
      agent: new TestAgent(region.agent),
      agentKey: await reportSealingKey(region.agent),
      ca: openCertificateAuthority(acme, { KULE_MASTER_KEY: masterKey }),
      masterKey,
      acmePath,
      folder,
    });
  }

  /** @throws Error in a world with another CA */
  get pebble(): Pebble {
    if (this.#pebble === null) throw new Error("the CA of this world is not pebble");
    return this.#pebble;
  }

  /** POST /certificates, as it is answered. */
  create(domainNames: readonly string[], more: object = {}) {
    this.#named += 1;
    return this.owner.post("/certificates", {
      name: `managed-${this.#named}`,
      type: "managed",
      region: "r1",
      domain_names: domainNames,
      ...more,
    });
  }

  async certificate(id: string): Promise<Schemas["Certificate"]> {
    return (await this.owner.get(`/certificates/${id}`)).body;
  }

  /** The region's agent makes the key of the job that waits, and reports it as its program does. */
  async makeKey(change: (made: Record<string, unknown>) => object = (made) => made): Promise<void> {
    const job = await this.agent.take("CertificateRequest");
    const answer = await this.agent.report(job, reportOfKey(change(madeKey(job.payload))));
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  }

  /** The order's next step, whenever it is due. @returns the state that it is in then; "none" without an order */
  async step(
    id: string,
    ca: CertificateAuthority | null = this.ca,
    crash: CrashHook = noCrash,
  ): Promise<string> {
    await this.served.rows("update certificate_order set step_at = now() where certificate_id = $1", [id]);
    await withCrashPoints(crash, "worker.step_certificate_order", () =>
      stepOrder({ deps: this.deps, ca, hooks: certificateHooks }, this.organisation.id, id),
    );
    return this.stateOf(id);
  }

  async stateOf(id: string): Promise<string> {
    const [row] = await this.served.rows("select state from certificate_order where certificate_id = $1", [
      id,
    ]);
    return row === undefined ? "none" : String(row.state);
  }

  /** What the worker does every minute. */
  lookAfter(ca: CertificateAuthority | null = this.ca) {
    return lookAfterCertificates({ deps: this.deps, ca, hooks: certificateHooks });
  }

  async close(): Promise<void> {
    this.ca.client.close();
    await this.served.close();
    await this.#running.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** What a region's program makes for the payload of a CertificateRequest. */
export function madeKey({
  version,
  domain_names,
  public_key,
  context,
}: Pick<PayloadOf<"CertificateRequest">, "version" | "domain_names" | "public_key" | "context">) {
  const { csrDer, privateKeyPem } = makeCertificateRequest(domain_names);
  return {
    version,
    csr: csrDer.toString("base64"),
    sealed_key: sealSecret(public_key, privateKeyPem.toString("latin1"), context),
    public_key,
  };
}

/** The last report of such a job. */
export function reportOfKey(made: object) {
  const observed = { power_state: "unknown", certificate_request: made };
  return { phase: "verify", outcome: { status: "succeeded", observed } };
}
