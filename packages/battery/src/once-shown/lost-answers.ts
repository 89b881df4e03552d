import { randomUUID } from "node:crypto";
import { connect } from "node:net";
import type { Answer } from "@kule/api/testing/api-caller";
import { type Exchange, HttpFaultProxy } from "@kule/testing/rig/http-fault-proxy";
import type { SecretOperation } from "./secret-operations.ts";

/** The outcome of one call whose answer was lost, or not. */
export type ShownOnce = {
  readonly operation: SecretOperation;
  readonly name: string;
  readonly loss: Loss;
  /** The secret, if the caller received it or we read it in transit. */
  readonly secret: string | null;
  readonly violations: readonly string[];
};

/**
 * How an answer is lost: in transit (we see it), because the caller disconnects before it is sent (it is
 * never seen, and the API may or may not have begun), or not at all.
 */
export type Loss = "on the way" | "caller gone" | "none";

export class LostAnswers {
  readonly #proxy: HttpFaultProxy;
  readonly #exchanges: Exchange[];

  private constructor(proxy: HttpFaultProxy, exchanges: Exchange[]) {
    this.#proxy = proxy;
    this.#exchanges = exchanges;
  }

  static async open(url: string, random: () => number): Promise<LostAnswers> {
    const exchanges: Exchange[] = [];
    const target = new URL(url).origin;
    const proxy = await HttpFaultProxy.open({
      target,
      random,
      onExchange: (exchange) => exchanges.push(exchange),
    });
    return new LostAnswers(proxy, exchanges);
  }

  close(): Promise<void> {
    return this.#proxy.close();
  }

  /**
   * Calls once, loses the answer, and repeats the request with the same key: several times concurrently, and
   * once more.
   */
  async tryOut(operation: SecretOperation, name: string, loss: Loss): Promise<ShownOnce> {
    const key = randomUUID();
    const body = JSON.stringify(operation.body(name));
    const first = await this.#first(operation, key, body, loss);
    const repeat = () => operation.caller.send("POST", operation.path, body, { "Idempotency-Key": key });
    const repeats: Answer[] = [];
    for (let round = 0; round < 2; round += 1) repeats.push(...(await Promise.all([repeat(), repeat()])));
    const shown = [first, ...repeats.map((answer) => secretIn(answer.body, operation.field))].filter(
      (secret) => secret !== null,
    );
    return {
      operation,
      name,
      loss,
      secret: shown[0] ?? null,
      violations: judge(operation, loss, shown, repeats),
    };
  }

  /** The secret in the first answer, as far as it is known. */
  async #first({ caller, path, field }: SecretOperation, key: string, body: string, loss: Loss) {
    const headers = { "Content-Type": "application/json", "Idempotency-Key": key };
    if (loss === "none") {
      const answer = await caller.send("POST", path, body, headers);
      return secretIn(answer.body, field);
    }
    const authorization = `Bearer ${caller.token}`;
    const target = `/api/v1${path}`;
    if (loss === "caller gone") {
      await sendAndLeave(this.#proxy.origin, target, { ...headers, authorization }, body);
      return null;
    }
    const isOurs = (text: string) => text === body;
    const remove = this.#proxy.add({ action: "drop-after", path: new RegExp(`^${target}$`), when: isOurs });
    const answered = await fetch(this.#proxy.origin + target, {
      method: "POST",
      headers: { ...headers, authorization },
      body,
    }).then(
      () => true,
      () => false,
    );
    remove();
    await this.#proxy.quiet();
    const exchange = this.#exchanges.find(({ requestBody }) => requestBody === body);
    const text = exchange?.answers[0]?.body;
    if (answered || text === undefined) throw new Error(`the answer to ${path} was not lost as it should be`);
    return secretIn(JSON.parse(text), field);
  }
}

/** Sends a whole request and closes the connection without waiting for an answer. */
function sendAndLeave(
  origin: string,
  target: string,
  headers: Readonly<Record<string, string>>,
  body: string,
): Promise<void> {
  return new Promise((resolve) => {
    const socket = connect(Number(new URL(origin).port), "127.0.0.1", () => {
      const head = Object.entries({
        Host: "kule",
        "Content-Length": String(Buffer.byteLength(body)),
        ...headers,
      });
      socket.end(
        `POST ${target} HTTP/1.1\r\n${head.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${body}`,
        () => socket.destroy(),
      );
    });
    socket.on("error", () => {});
    socket.on("close", () => resolve());
  });
}

function secretIn(body: unknown, field: string): string | null {
  const value = (body as Readonly<Record<string, unknown>> | null)?.[field];
  return typeof value === "string" ? value : null;
}

function judge(
  { name, field }: SecretOperation,
  loss: Loss,
  shown: readonly string[],
  repeats: readonly Answer[],
): string[] {
  const violations: string[] = [];
  if (shown.length > 1)
    violations.push(`${name} (answer lost: ${loss}): the secret was answered ${shown.length} times`);
  if (shown.length === 0 && loss !== "caller gone")
    violations.push(`${name} (answer lost: ${loss}): no secret was ever answered`);
  for (const { status, body, headers } of repeats) {
    if (status >= 300) {
      violations.push(
        `${name} (answer lost: ${loss}): the repeat is answered ${status} ${JSON.stringify(body)}`,
      );
      continue;
    }
    if (secretIn(body, field) !== null) continue;
    if (
      headers.get("idempotency-replayed") !== "true" ||
      body.secret_withheld !== true ||
      body[field] !== null
    )
      violations.push(`${name} (answer lost: ${loss}): a repeat does not say that the secret is withheld`);
  }
  return violations;
}
