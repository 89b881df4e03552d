import type { Settings } from "../platform/settings.ts";
import { askUrl, isLoopback } from "./ask-url.ts";
import { advice, type Finding, good, wrong } from "./finding.ts";

const check = "public URL";

/** Whether clients and agents reach the API at KULE_PUBLIC_URL. */
export async function checkPublicUrl({ publicUrl, trustedProxies }: Settings): Promise<Finding[]> {
  const url = new URL(publicUrl);
  const secure =
    url.protocol === "https:" || isLoopback(url)
      ? []
      : [
          wrong(
            check,
            `${publicUrl} is not encrypted: tokens and passwords can be read on the way`,
            "put a reverse proxy with a certificate in front (infra/server/proxies), and write https:// into KULE_PUBLIC_URL",
          ),
        ];
  const answered = await reachable(publicUrl);
  return [...secure, answered, ...proxyAdvice(url, trustedProxies)];
}

async function reachable(publicUrl: string): Promise<Finding> {
  const answer = await askUrl(`${publicUrl}/healthz`);
  if (answer.kind === "failed")
    return wrong(
      check,
      `${publicUrl}: ${answer.words}`,
      answer.isTls
        ? "give the reverse proxy a certificate for this name with its whole chain; a CA of your own goes into NODE_EXTRA_CA_CERTS"
        : "check the name's address, that the reverse proxy listens there, and that this machine may connect to it",
    );
  const { status, text, location } = answer;
  if (status === 200 && /^\{"status":"ok"/.test(text)) return good(check, `${publicUrl} answers`);
  if (location !== null)
    return wrong(check, `${publicUrl} leads to ${location}`, "write that address into KULE_PUBLIC_URL");
  if (status >= 502 && status <= 504)
    return wrong(
      check,
      `the reverse proxy of ${publicUrl} answers ${status}: it does not reach the API`,
      "systemctl start kule-api; the proxy must name KULE_API_HOST and KULE_API_PORT",
    );
  return wrong(
    check,
    `${publicUrl}/healthz answers ${status}, and not as the API does`,
    "KULE_PUBLIC_URL must be the API's root with /api/v1, and the reverse proxy must pass that path on unchanged",
  );
}

/** The API itself has no certificate, so something stands before it. */
function proxyAdvice(url: URL, trustedProxies: number): Finding[] {
  if (url.protocol !== "https:" || trustedProxies > 0) return [];
  return [
    advice(
      "client addresses",
      "KULE_TRUSTED_PROXIES is 0: every client has the reverse proxy's address in limits and in the audit trail",
      "set KULE_TRUSTED_PROXIES to the number of proxies that add to X-Forwarded-For",
    ),
  ];
}
