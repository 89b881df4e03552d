import { createHash } from "node:crypto";

/**
 * The answers of the API that a page is made of. A page holds random values, such as its forms' tokens, so two of its
 * answers are never equal: but with the same answers of the API it says the same.
 */
export class AnswersSeen {
  readonly #answers: string[] = [];
  readonly #send: (request: Request) => Promise<Response>;

  constructor(send: (request: Request) => Promise<Response> = fetch) {
    this.#send = send;
  }

  /** Sends the request and notes the answer. */
  readonly send = async (request: Request): Promise<Response> => {
    const response = await this.#send(request);
    const body = Buffer.from(await response.arrayBuffer());
    const digest = createHash("sha256").update(body).digest("base64url");
    this.#answers.push(`${request.method} ${request.url} ${response.status} ${digest}`);
    return new Response(body.length === 0 ? null : body, response);
  };

  /**
   * A weak entity tag of a page of these answers, whose order does not count.
   *
   * @param facts everything else that the page depends on
   */
  tag(facts: readonly string[]): string {
    const hash = createHash("sha256").update(JSON.stringify([facts, this.#answers.toSorted()]));
    return `W/"${hash.digest("base64url").slice(0, 22)}"`;
  }
}
