import { ApiCaller } from "@kule/api/testing/api-caller";

/** `text` is headers and body, without the one field that is meant to be shown. */
export type RecordedAnswer = { readonly what: string; readonly status: number; readonly text: string };

/** Operations that show a secret, once, and in which field. */
const showing: readonly (readonly [RegExp, string])[] = [
  [/^POST \/api\/v1\/(regions\/[^/]+\/agent-)?tokens(\/[^/]+\/rotate)?$/, "secret"],
  [/^POST \/api\/v1\/auth\/(login|oidc)$/, "token"],
  [/^POST \/api\/v1\/(auth\/oidc|me\/identities)\/authorization$/, "flow"],
  [/^POST \/api\/v1\/invitations$/, "secret"],
  [/^POST \/api\/v1\/servers$/, "console_password"],
];

/** The API over HTTP, with everything it ever answered, headers included. */
export class RecordedApi {
  readonly answers: RecordedAnswer[] = [];
  readonly #origin: string;

  constructor(url: string) {
    this.#origin = new URL(url).origin;
  }

  /** @param headers sent with every call, such as Kule-Organisation */
  caller(token: string | null, headers: Readonly<Record<string, string>> = {}): ApiCaller {
    const request = async (path: string, init?: RequestInit) => {
      const response = await fetch(`${this.#origin}${path}`, init);
      const text = await response.text();
      const what = `${init?.method} ${path}`;
      const headers = JSON.stringify([...response.headers]);
      const isRepeat = response.headers.has("Idempotency-Replayed");
      const kept = isRepeat ? text : withoutShown(what, response.status, text);
      this.answers.push({ what, status: response.status, text: `${headers}\n${kept}` });
      return new Response(response.status === 204 ? null : text, response);
    };
    const app = { request } as unknown as ConstructorParameters<typeof ApiCaller>[0];
    return new ApiCaller(app, token, headers);
  }
}

function withoutShown(what: string, status: number, text: string): string {
  const field = showing.find(([pattern]) => pattern.test(what))?.[1];
  if (field === undefined || status >= 300) return text;
  const { [field]: shown, ...rest } = JSON.parse(text) as Record<string, unknown>;
  return JSON.stringify(rest);
}
