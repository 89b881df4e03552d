import { wordsOf } from "./finding.ts";

const patienceMs = 10_000;
const mostBytes = 64 * 1024;

export type UrlAnswer =
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly text: string;
      readonly location: string | null;
    }
  | { readonly kind: "failed"; readonly words: string; readonly isTls: boolean };

/** One GET, as a browser or an agent would make it; redirects are not followed. */
export async function askUrl(url: string): Promise<UrlAnswer> {
  try {
    const response = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(patienceMs) });
    const text = Buffer.from(await response.arrayBuffer())
      .subarray(0, mostBytes)
      .toString();
    return { kind: "answer", status: response.status, text, location: response.headers.get("location") };
  } catch (error) {
    const cause = (error as Error).cause ?? error;
    const code = String((cause as { readonly code?: unknown }).code ?? "");
    const isTls = /CERT|SELF_SIGNED|UNABLE_TO|ERR_TLS|ERR_SSL|EPROTO/.test(code);
    return { kind: "failed", words: wordsOf(cause), isTls };
  }
}

const loopback = /^(localhost|127(\.\d+){3}|\[::1\])$/;

/** Whether it leads to this machine only, where nobody listens in. */
export const isLoopback = (url: URL): boolean => loopback.test(url.hostname);
