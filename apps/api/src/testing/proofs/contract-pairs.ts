import { operations } from "@kule/contract/generated/operations";
import type { OperationId, OperationInfo } from "@kule/contract/schemas";
import { responseDefect } from "@kule/contract/validate-response";
import type { Hono } from "hono";

/** Statuses of the transport that every operation may answer and the contract does not repeat. */
const transport = new Set([405, 413, 415]);

type Route = { readonly info: OperationInfo; readonly path: RegExp };

const routes: readonly Route[] = Object.values(operations).map((info) => ({
  info,
  path: new RegExp(`^/api/v1${info.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`),
}));

/**
 * Listens to APIs in this process and records which operation has answered with which status, and every
 * answer that is not in the contract.
 */
export class ContractPairs {
  readonly #seen = new Set<string>();
  readonly #undocumented = new Map<string, string>();
  answers = 0;

  /** From here on all answers of the app are recorded, for every caller. */
  listenTo(app: Hono): void {
    const original = app.request.bind(app);
    app.request = async (...args: Parameters<Hono["request"]>) => {
      const response = await original(...args);
      const [target, init] = args;
      if (typeof target === "string") await this.#note(init?.method ?? "GET", target, response);
      return response;
    };
  }

  async #note(method: string, target: string, response: Response): Promise<void> {
    const [path = ""] = target.split("?");
    const route = routes.find(
      ({ info, path: fits }) => info.method.toUpperCase() === method && fits.test(path),
    );
    if (route === undefined) return;
    this.answers += 1;
    const { id } = route.info;
    const { status } = response;
    this.#seen.add(`${id} ${status}`);
    if (transport.has(status)) return;
    const isJson = /^application\/(problem\+)?json\b/.test(response.headers.get("Content-Type") ?? "");
    const body: unknown = isJson ? await response.clone().json() : null;
    const defect = responseDefect(id, status, body);
    if (defect !== null && !this.#undocumented.has(`${id} ${status}`))
      this.#undocumented.set(`${id} ${status}`, `${defect} (${method} ${target.slice(0, 200)})`);
  }

  has(id: OperationId, status: number): boolean {
    return this.#seen.has(`${id} ${status}`);
  }

  /** Every documented pair that was not seen. */
  missing(): string[] {
    return documentedPairs().filter((pair) => !this.#seen.has(pair));
  }

  /** Answers that the contract does not have: an undocumented status, or a body that does not fit. */
  undocumented(): string[] {
    return [...this.#undocumented.values()];
  }
}

export function documentedPairs(): string[] {
  return Object.values(operations).flatMap((info) => info.statuses.map((status) => `${info.id} ${status}`));
}
