import type { Settings } from "../platform/settings.ts";
import { askUrl, isLoopback } from "./ask-url.ts";
import type { Environment } from "./diagnose.ts";
import { advice, type Finding, good, wrong } from "./finding.ts";

const check = "panel";

/** Whether browsers reach the panel, and its settings go with the API's. Without its address there is none here. */
export async function checkPanel(settings: Settings, environment: Environment): Promise<Finding[]> {
  const panel = URL.parse(environment.KULE_CONSOLE_PUBLIC_URL ?? "");
  if (panel === null) return [];
  return [await reachable(panel), ...agreement(panel, settings, environment)];
}

async function reachable(panel: URL): Promise<Finding> {
  const answer = await askUrl(`${panel.origin}/healthz`);
  if (answer.kind === "answer" && answer.status === 200) return good(check, `${panel.origin} answers`);
  return wrong(
    check,
    `${panel.origin}: ${answer.kind === "failed" ? answer.words : `/healthz answers ${answer.status}`}`,
    "systemctl start kule-console; the reverse proxy must pass everything but /api/ on to KULE_CONSOLE_PORT",
  );
}

function agreement(panel: URL, settings: Settings, environment: Environment): Finding[] {
  const findings: Finding[] = [];
  const api = new URL(settings.publicUrl);
  if (panel.origin !== api.origin && !settings.consoleOrigins.includes(panel.origin))
    findings.push(
      wrong(
        check,
        `KULE_CONSOLE_ORIGINS lacks ${panel.origin}: consoles of servers are refused`,
        `add ${panel.origin}`,
      ),
    );
  // In the order in which the panel takes them.
  const sockets = URL.parse(
    environment.KULE_CONSOLE_SOCKETS || environment.KULE_PUBLIC_URL || environment.KULE_API_URL || "",
  );
  if (sockets !== null && isLoopback(sockets) && !isLoopback(panel))
    findings.push(
      wrong(
        check,
        `browsers would open consoles at ${sockets.origin}, which is their own machine`,
        `set KULE_CONSOLE_SOCKETS to ${api.origin.replace(/^http/, "ws")}`,
      ),
    );
  if (panel.protocol === "https:" && !hasSecureCookies(environment))
    findings.push(
      wrong(check, "cookies are sent without encryption too", "set KULE_CONSOLE_SECURE_COOKIES to true"),
    );
  if (settings.consoleKeys.length === 0)
    findings.push(
      advice(
        check,
        "KULE_CONSOLE_KEY is not set: all visitors count as one address",
        "set it for the API and the panel, as KULE_CONSOLE_KEY_FILE",
      ),
    );
  return findings;
}

/** As the panel decides it. */
function hasSecureCookies({
  KULE_CONSOLE_SECURE_COOKIES: set,
  KULE_CONSOLE_HOST: host,
}: Environment): boolean {
  if (set !== undefined && set !== "") return set === "true";
  return !["127.0.0.1", "::1", "localhost"].includes(host || "127.0.0.1");
}
