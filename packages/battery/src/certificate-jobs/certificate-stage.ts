import { setTimeout as delay } from "node:timers/promises";
import { certificateHooks } from "@kule/api/products/certificate-hooks";
import { type CertificateAuthority, stepOrder } from "@kule/api/products/certificates/index";
import { IssuingWorld } from "@kule/api/testing/issuing-world";
import type { Schemas } from "@kule/contract/schemas";
import { askNameServer } from "@kule/testing/ask-name-server";
import { StandInCa } from "./stand-in-ca.ts";

/** Longer than anything takes on a slow machine. */
const endMilliseconds = 300_000;
const betweenLooks = 25;
/** More than any failing CA is to cause. */
const mostFailures = 5;
/** A step may be made a second before its time, and a look at the clock takes its own. */
const shortWaitSeconds = 3;

/** What is in use of a certificate. */
export type Material = {
  readonly version: number;
  readonly fingerprint: string;
  readonly chain: string;
  readonly sealedKey: string;
};

/** An attempt that has failed, and how long the next one waits. */
export type SeenFailure = { readonly code: string; readonly pauseSeconds: number };

type OrderLook = {
  readonly state: string;
  readonly waitSeconds: number;
  readonly failures: number;
  readonly lastError: { readonly code: string } | null;
  readonly pauseSeconds: number | null;
};

type Drive = {
  readonly ca?: CertificateAuthority;
  /** Before each step. */
  readonly before?: (order: OrderLook) => Promise<void>;
  readonly onFailure?: (failures: readonly SeenFailure[]) => void;
};

/**
 * A managed certificate that is in use and issued anew again and again: by a CA in this process that can fail, proven through a
 * domain that is really served, with the worker's steps made one by one.
 */
export class CertificateStage {
  readonly world: IssuingWorld;
  readonly ca: StandInCa;
  readonly id: string;
  readonly domain: Schemas["Domain"];
  readonly names: readonly string[];

  private constructor(parts: {
    world: IssuingWorld;
    ca: StandInCa;
    id: string;
    domain: Schemas["Domain"];
    names: readonly string[];
  }) {
    this.world = parts.world;
    this.ca = parts.ca;
    this.id = parts.id;
    this.domain = parts.domain;
    this.names = parts.names;
  }

  /** With a certificate that waits for its first key. */
  static async open(): Promise<CertificateStage> {
    const opened = Promise.withResolvers<StandInCa>();
    const world = await IssuingWorld.open(0, async (dnsServer) => {
      const started = await StandInCa.open({ lookUp: (name) => textsOf(dnsServer, name) });
      opened.resolve(started);
      return started;
    });
    const ca = await opened.promise;
    try {
      const domain = await world.served.addServedDomain(world.owner);
      const names = [domain.name, `*.${domain.name}`];
      const { status, body } = await world.create(names);
      if (status !== 202) throw new Error(`no certificate: ${status} ${JSON.stringify(body)}`);
      return new CertificateStage({ world, ca, id: body.certificate.id, domain, names });
    } catch (error) {
      await world.close();
      throw error;
    }
  }

  /** As its owner does. The region's job waits then. */
  async renew(): Promise<void> {
    const { status, body } = await this.world.owner.post(`/certificates/${this.id}/renew`);
    if (status !== 202) throw new Error(`not renewed: ${status} ${JSON.stringify(body)}`);
  }

  /** The order now; null when there is none. */
  async order(): Promise<OrderLook | null> {
    const [row] = await this.world.served.rows(
      `select o.state, extract(epoch from o.step_at - clock_timestamp())::float as wait, c.failed_attempts, c.last_error,
              extract(epoch from c.next_attempt_at - (c.last_error ->> 'at')::timestamptz)::float as pause
         from certificate_order o join certificate c on c.id = o.certificate_id where c.id = $1`,
      [this.id],
    );
    if (row === undefined) return null;
    return {
      state: String(row.state),
      waitSeconds: Number(row.wait),
      failures: Number(row.failed_attempts),
      lastError: row.last_error as OrderLook["lastError"],
      pauseSeconds: row.pause === null ? null : Number(row.pause),
    };
  }

  /** What is in use; null before the first. */
  async material(): Promise<Material | null> {
    const rows = await this.world.served.rows(
      `select v.version, fingerprint_sha256, chain_pem, sealed_key
         from certificate_version v join certificate c on c.id = v.certificate_id and c.version = v.version where c.id = $1`,
      [this.id],
    );
    const [row] = rows;
    if (row === undefined) return null;
    return {
      version: Number(row.version),
      fingerprint: String(row.fingerprint_sha256),
      chain: String(row.chain_pem),
      sealedKey: String(row.sealed_key),
    };
  }

  /** Waits while the name servers get what they are to answer. */
  async untilServed(): Promise<void> {
    for (const deadline = performance.now() + endMilliseconds; performance.now() < deadline; ) {
      const open = await this.world.served.rows(
        "select id from job where resource_id = $1 and status in ('queued', 'running')",
        [this.domain.id],
      );
      if (open.length === 0) return;
      await delay(betweenLooks);
    }
  }

  /** Makes the order's step if it is due by the clock. @returns whether it was */
  stepIfDue(ca: CertificateAuthority = this.world.ca): Promise<boolean> {
    const { deps, organisation } = this.world;
    return stepOrder({ deps, ca, hooks: certificateHooks }, organisation.id, this.id);
  }

  /** The time passes for which the order waits. */
  async passWait(): Promise<void> {
    const now = "clock_timestamp() - interval '1 second'";
    await this.world.served.rows(
      `update certificate set next_attempt_at = ${now}, ca_retry_at = case when ca_retry_at is null then null else ${now} end
        where id = $1 and next_attempt_at is not null`,
      [this.id],
    );
  }

  /** Makes the worker's steps until the order is at its end; what is wrong on the way. */
  async drive({ ca = this.world.ca, before, onFailure }: Drive = {}): Promise<{
    readonly found: string[];
    readonly failures: readonly SeenFailure[];
  }> {
    const inUse = await this.material();
    const failures: SeenFailure[] = [];
    const found: string[] = [];
    let seen = (await this.order())?.failures ?? 0;
    for (const deadline = performance.now() + endMilliseconds; ; ) {
      const order = await this.order();
      if (order === null) return { found, failures };
      if (performance.now() > deadline) {
        const why = order.lastError === null ? "" : ` after ${order.lastError.code}`;
        found.push(`its order is ${order.state} and does not come to an end${why}`);
        return { found, failures };
      }
      if (order.failures > seen) {
        seen = order.failures;
        failures.push({ code: order.lastError?.code ?? "none", pauseSeconds: order.pauseSeconds ?? 0 });
        found.push(...(await this.#whileWaiting(ca, order)), ...(await this.#stillServes(inUse)));
        onFailure?.(failures);
        if (failures.length > mostFailures)
          found.push(`its attempts go on failing with ${order.lastError?.code}`);
        await this.passWait();
      } else if (order.waitSeconds > 0) await this.untilServed();
      if (order.state === "requesting") {
        // The time has passed after which the region is asked again.
        await this.world.step(this.id, ca);
        await this.world.makeKey();
        continue;
      }
      await before?.(order);
      await this.world.step(this.id, ca);
      if ((await this.order()) !== null) found.push(...(await this.#changedInUse(inUse)));
      if (found.length > 0) return { found, failures };
    }
  }

  /** A failed attempt is not followed by another one before its time. */
  async #whileWaiting(ca: CertificateAuthority, { waitSeconds, pauseSeconds }: OrderLook): Promise<string[]> {
    if (pauseSeconds === null || pauseSeconds < shortWaitSeconds) return ["the next attempt is made at once"];
    // On a slow machine the time may have come meanwhile.
    if (waitSeconds < shortWaitSeconds) return [];
    const asked = this.ca.asked.length;
    const wasDue = await this.stepIfDue(ca);
    return wasDue || this.ca.asked.length > asked
      ? [`the next attempt is made ${Math.round(waitSeconds)} s before its time`]
      : [];
  }

  async #changedInUse(before: Material | null): Promise<string[]> {
    const now = await this.material();
    return now?.fingerprint === before?.fingerprint && now?.sealedKey === before?.sealedKey
      ? []
      : [`what was in use is another one before its successor is there`];
  }

  /** As users see it, between two attempts. */
  async #stillServes(inUse: Material | null): Promise<string[]> {
    if (inUse === null) return [];
    const { status, fingerprint_sha256 } = await this.world.certificate(this.id);
    return status === "active" && fingerprint_sha256 === inUse.fingerprint
      ? []
      : [`after a failed attempt the certificate in use is ${status} ${fingerprint_sha256}`];
  }

  async close(): Promise<void> {
    await this.world.close();
  }
}

async function textsOf(dnsServer: string, name: string): Promise<string[]> {
  const { answers = [] } = await askNameServer(dnsServer, name, "TXT");
  return answers.flatMap((answer) =>
    answer.type === "TXT" ? [[answer.data].flat().map(String).join("")] : [],
  );
}
