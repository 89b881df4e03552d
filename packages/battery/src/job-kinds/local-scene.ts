import type { ApiCaller } from "@kule/api/testing/api-caller";
import { ApiWorld } from "@kule/api/testing/api-world";
import { TestAgent } from "@kule/api/testing/test-agent";
import { expireRemovalBuffer } from "@kule/api/worker/expire-removal-buffer";
import type { JobKind } from "@kule/contract/schemas";
import { call as callLab, run as runInLab } from "@kule/lab/api-client";
import { callWorld } from "@kule/lab/world";
import type { StepEvent, World } from "@kule/programs/program";
import { type LabRegion, startLabRegion } from "@kule/programs/testing/lab-region";
import { ProxmoxClient } from "@kule/proxmox/client";
import { ProxmoxHypervisor } from "@kule/proxmox/proxmox-hypervisor";
import { makeSealingKeyPair } from "@kule/sealed-secret/sealed-secret";
import type { EdgeView } from "@kule/testing/world-check/edge-invariants";
import { viewOfControlServer, viewOfVms } from "@kule/testing/world-check/region-invariants";
import pg from "pg";
import { LocalAgent, type Runner } from "./local-agent.ts";
import { type JobEndRow, type JobScene, latestJob, resourceOf, type Subject } from "./scene.ts";

/** Enough for as many organisations and servers as a row may need. */
export const ROOM = {
  vmid_range: { first: 20_000, last: 29_999 },
  vlan_range: { first: 100, last: 3_999 },
};

export type HowToWork = {
  readonly run?: Runner;
  /** Called with each step, and awaited, before the control plane gets it. */
  readonly onEvent?: (event: StepEvent) => unknown;
  /** With a token that may do more than an agent's. */
  readonly isPrivileged?: boolean | undefined;
};

/** The world's programs open whatever they are given: the other half is not needed. */
const SEALING_KEY = makeSealingKeyPair().publicKey;

/** A job that is claimed more often than this without an end circles. */
const MOST_CLAIMS = 30;

/**
 * The API, a lab and an agent in one process. Waits of programs take no time, and backoffs are skipped, so
 * that a job that fails to its last attempt takes a second.
 */
export class LocalScene implements JobScene {
  readonly region = "lab1";
  readonly image = "ubuntu-24.04";
  readonly api: ApiWorld;
  readonly lab: LabRegion;
  readonly owner: pg.Pool;
  edge?: EdgeView;
  /** As an agent of the region calls the API. */
  readonly agentApi: ApiCaller;
  readonly #agent: LocalAgent;
  readonly #privileged: LocalAgent;
  readonly #operatorClient: ProxmoxClient;

  private constructor(api: ApiWorld, lab: LabRegion, claims: TestAgent, world: World) {
    this.api = api;
    this.lab = lab;
    this.agentApi = claims.api;
    this.#operatorClient = new ProxmoxClient({
      endpoints: [lab.lab.url],
      tokenId: lab.lab.operatorTokenId,
      tokenSecret: lab.lab.operatorTokenSecret,
      tls: { fingerprints: [lab.lab.fingerprint256] },
    });
    this.#agent = new LocalAgent(claims, world);
    const hypervisor = new ProxmoxHypervisor(this.#operatorClient, world.runtime);
    this.#privileged = new LocalAgent(claims, { ...world, hypervisor });
    this.owner = new pg.Pool({ connectionString: api.database.ownerUrl, max: 2 });
    this.owner.on("error", () => {});
  }

  /** Opens one for as long as the work takes. `worldOf` makes another world for the programs from the lab's. */
  static async use<T>(
    work: (scene: LocalScene) => Promise<T>,
    worldOf: (lab: LabRegion) => World = ({ world }) => world,
  ): Promise<T> {
    const api = await ApiWorld.open({ removalBufferSeconds: 3600 });
    const lab = await startLabRegion({}, { controlPort: 0 });
    try {
      const { agent } = await api.addRegion("lab1", ROOM);
      const scene = new LocalScene(api, lab, new TestAgent(agent), worldOf(lab));
      try {
        return await work(scene);
      } finally {
        scene.#operatorClient.close();
        await scene.owner.end();
      }
    } finally {
      await lab.stop();
      await api.close();
    }
  }

  get operator() {
    return this.api.operator;
  }

  get ownerUrl(): string {
    return this.api.database.ownerUrl;
  }

  async endBuffer({ organisation, server }: Subject): Promise<void> {
    await this.owner.query(
      "update server set purge_at = clock_timestamp() - interval '1 second' where id = $1",
      [server],
    );
    if (!(await expireRemovalBuffer(this.api.replica.deps, organisation, server)))
      throw new Error(`the removal buffer of ${server} does not end`);
  }

  view() {
    return viewOfControlServer(this.region, this.lab.lab.controlUrl ?? "");
  }

  async vms() {
    return viewOfVms(this.lab.lab.controlUrl ?? "");
  }

  async changeOutsideKule(what: string, ...args: readonly unknown[]): Promise<void> {
    callWorld(this.lab.lab.control, what, args);
  }

  async volumes(vmid: number) {
    return this.lab.lab.control.volumes(vmid);
  }

  /** Works until the subject's job of the kind is over, or has been claimed so often that it never will be. */
  async work(subject: Subject, kind: JobKind, how: HowToWork = {}): Promise<JobEndRow> {
    for (let claims = 0; ; claims += 1) {
      const job = await latestJob(this, subject, kind);
      if (job === null) throw new Error(`${resourceOf(subject, kind)} has no ${kind}`);
      if (job.finished_at !== null || claims === MOST_CLAIMS) return job;
      await this.passBackoff();
      const agent = how.isPrivileged ? this.#privileged : this.#agent;
      if ((await agent.workOnce(how.run, how.onEvent)) === null) return job;
    }
  }

  /** As the region's agent does with its health, so that passwords can be sealed to it. */
  async reportAgentKey(): Promise<void> {
    const { status, body } = await this.agentApi.post("/agent/health", {
      agent_version: "0.1.0",
      hypervisor: { kind: "proxmox", reachable: true },
      public_key: SEALING_KEY,
    });
    if (status !== 200) throw new Error(`the agent's key: ${status} ${JSON.stringify(body)}`);
  }

  /** As an operator of the region may do at any moment. */
  async pauseGuest(vmid: number): Promise<void> {
    const node = this.lab.lab.control.vm(vmid)?.node ?? "";
    const path = `/nodes/${node}/qemu/${vmid}/status/suspend`;
    const ended = await runInLab(this.lab.lab, `POST ${path}`, { as: "operator" });
    if (ended !== "OK") throw new Error(`VM ${vmid} cannot be paused: ${ended}`);
  }

  /** A call to the hypervisor below the VM's own path, with more rights than an agent has. */
  async callAsOperator(
    method: string,
    vmid: number,
    path: string,
    form: Readonly<Record<string, string | number>> = {},
  ): Promise<void> {
    const node = this.lab.lab.control.vm(vmid)?.node ?? "";
    const answer = await callLab(this.lab.lab, `${method} /nodes/${node}/qemu/${vmid}/${path}`, {
      as: "operator",
      ...(method === "DELETE" ? {} : { form: { ...form } }),
    });
    if (answer.status !== 200)
      throw new Error(`${method} ${path} of VM ${vmid}: ${answer.status} ${answer.text}`);
  }

  /** Ends all backoffs. Jobs in none keep their turn, so that two runs claim in the same order. */
  async passBackoff(): Promise<void> {
    await this.owner.query(
      `update job set run_at = clock_timestamp() - interval '1 second'
        where status = 'queued' and run_at > clock_timestamp()`,
    );
  }
}
