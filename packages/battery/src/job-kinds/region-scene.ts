import { setTimeout as delay } from "node:timers/promises";
import { ApiCaller } from "@kule/api/testing/api-caller";
import type { JobKind } from "@kule/contract/schemas";
import { effects } from "@kule/lab/effects";
import { readJournal } from "@kule/lab/journal";
import { type RegionWorld, startRegionWorld, type WorldOptions } from "@kule/testing/region-world";
import type { EdgeView } from "@kule/testing/world-check/edge-invariants";
import { viewOfControlServer, viewOfVms } from "@kule/testing/world-check/region-invariants";
import pg from "pg";
import type { EdgeTestbed } from "../network-jobs/edge-testbed.ts";
import { viewOfEdge } from "../network-jobs/edge-view.ts";
import { type JobEndRow, type JobScene, latestJob, resourceOf, type Subject } from "./scene.ts";

const POLL_MILLISECONDS = 100;
/** Longer than a guest agent takes to start in the labs of these rows. */
const GUEST_AGENT_MILLISECONDS = 500;
/**
 * A job that takes this long will not end at all: eight jobs at an edge that are taken over, beside two other rows on two
 * cores, have taken more than 30 seconds.
 */
const TIMEOUT_MILLISECONDS = 90_000;

/** API, worker, lab and agents as processes of their own, which can be killed and stopped. */
export class RegionScene implements JobScene {
  readonly region = "lab1";
  readonly image: string;
  readonly world: RegionWorld;
  readonly owner: pg.Pool;
  readonly operator: ApiCaller;
  readonly edge?: EdgeView;

  private constructor(world: RegionWorld, image: string, testbed?: EdgeTestbed) {
    this.world = world;
    this.image = image;
    if (testbed !== undefined) this.edge = viewOfEdge(testbed, this.region);
    this.owner = new pg.Pool({ connectionString: world.database.ownerUrl, max: 4 });
    this.owner.on("error", () => {});
    const { origin } = new URL(world.apiUrl);
    const request = (path: string, init?: RequestInit) => untilNotBusy(() => fetch(`${origin}${path}`, init));
    this.operator = new ApiCaller({ request } as unknown as ApiCaller["app"], world.operatorToken);
  }

  /** Opens one for as long as the work takes. */
  static async use<T>(
    options: WorldOptions,
    work: (scene: RegionScene) => Promise<T>,
    testbed?: EdgeTestbed,
    image = "ubuntu-24.04",
  ): Promise<T> {
    const world = await startRegionWorld({
      removalBufferSeconds: 3600,
      ...options,
      ...(testbed === undefined ? {} : { edge: testbed.inRegionFile }),
    });
    const scene = new RegionScene(world, image, testbed);
    try {
      return await work(scene);
    } finally {
      await scene.owner.end();
      await world.end();
    }
  }

  get ownerUrl(): string {
    return this.world.database.ownerUrl;
  }

  /** The buffer is an hour; this is the hour passing. The worker does the rest. */
  async endBuffer({ organisation, server }: Subject): Promise<void> {
    await this.owner.query("update server set purge_at = clock_timestamp() where id = $1", [server]);
    const payload = JSON.stringify({ organisation_id: organisation, server_id: server });
    await this.owner.query(
      "select kule_task_add('expire_removal_buffer', $1::json, now(), 'purge:' || $2::text)",
      [payload, server],
    );
  }

  view() {
    return viewOfControlServer(this.region, this.world.labControlUrl);
  }

  vms() {
    return viewOfVms(this.world.labControlUrl);
  }

  async volumes(vmid: number) {
    return [...(effects(readJournal(this.world.labDirectory)).volumes.get(vmid) ?? [])];
  }

  /** Waits until the subject's job of the kind is over; answers it as it is when that takes too long. */
  async work(
    subject: Subject,
    kind: JobKind,
    timeoutMilliseconds = TIMEOUT_MILLISECONDS,
  ): Promise<JobEndRow> {
    const deadline = performance.now() + timeoutMilliseconds;
    for (;;) {
      const job = await latestJob(this, subject, kind);
      if (job !== null && (job.finished_at !== null || performance.now() > deadline)) {
        // A guest whose agent is not up yet is handled differently: a case must not depend on chance.
        if (kind === "ServerCreate") await delay(GUEST_AGENT_MILLISECONDS);
        return job;
      }
      if (performance.now() > deadline)
        throw new Error(`${resourceOf(subject, kind)} has no ${kind}\n${this.world.outputs()}`);
      await delay(POLL_MILLISECONDS);
    }
  }

  async changeOutsideKule(what: string, ...args: readonly unknown[]): Promise<void> {
    await this.control("POST", "/world", { do: what, args });
  }

  /** Does something in the lab behind the agents' back. */
  async control(method: "POST" | "DELETE" | "GET", path: string, body?: object): Promise<unknown> {
    const answer = await fetch(`${this.world.labControlUrl}${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return answer.json();
  }
}

/**
 * Sends a request again that the API refused because its database was busy: it did nothing, and its answer says when
 * to send it again. Twenty requests at once for one region wait for each other, on a slow machine longer than a lock
 * may be waited for.
 */
async function untilNotBusy(send: () => Promise<Response>): Promise<Response> {
  for (let attempt = 1; ; attempt += 1) {
    const response = await send();
    const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
    if (response.status !== 503 || Number.isNaN(seconds) || attempt === 5) return response;
    await delay(seconds * 1_000);
  }
}
