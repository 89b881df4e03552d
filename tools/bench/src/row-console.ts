import { PanelBrowser } from "@kule/battery/panel-sessions/panel-browser";
import { bundleApps } from "@kule/build/bundle-apps";
import { findFreePort } from "@kule/postgres/free-port";
import { type Installation, ownerClient } from "./installation.ts";
import { HttpClients, oneByOne } from "./load.ts";
import { insertServers } from "./many-servers.ts";
import { made, registerOrganisation } from "./organisations.ts";
import { percentile } from "./statistics.ts";
import type { Row } from "./table.ts";

const aimMilliseconds = 50;
const warmUp = 20;
const rounds = 200;

/**
 * The panel's own time for a list of 50 of so many servers: its page, from the request to its last byte,
 * compared with the API's own answer for that list. Other calls of the page to the API count as the panel's.
 */
export async function consoleRow(installation: Installation, servers: number): Promise<Row> {
  const owner = await ownerClient(installation);
  const operator = new HttpClients(installation.api.urls, 1, {
    authorization: `Bearer ${installation.operatorToken}`,
  });
  const clientsFor = (headers: Record<string, string>) => new HttpClients(installation.api.urls, 1, headers);
  const organisation = await registerOrganisation(
    operator,
    clientsFor,
    installation.operatorToken,
    "console",
    "lab1",
  );
  await insertServers(owner, organisation, servers, "cc");
  const onBehalf = clientsFor({
    authorization: `Bearer ${installation.operatorToken}`,
    "kule-organisation": organisation.organisationId,
  });
  const email = "bench@example.org";
  const password = "a long phrase of the bench";
  const invited = await made<{ secret: string }>(onBehalf, "/invitations", { email, role: "owner" });
  await made(onBehalf, "/auth/invitation/accept", { secret: invited.secret, name: "Bench", password });
  const url = await startConsole(installation);
  const browser = new PanelBrowser(url);
  const { status } = await browser.signIn({ email, password });
  if (status !== 303) throw new Error(`the panel's sign-in answered ${status}`);
  // The same length of list as in the API request.
  const cookie = [...browser.cookies, ["kule_lists", "servers.50"]]
    .map(([name, value]) => `${name}=${value}`)
    .join("; ");
  const panel = new HttpClients(url, 1, { cookie });
  const api = clientsFor({ authorization: `Bearer ${organisation.token}` });

  const page: number[] = [];
  const list: number[] = [];
  for (let round = 0; round < warmUp + rounds; round += 1)
    // Alternating, so that other load on this machine affects both alike.
    for (const [samples, target, path, holds] of [
      [list, api, "/servers?limit=50", '"next_cursor"'],
      [page, panel, "/servers", "</html>"],
    ] as const) {
      const [took] = await oneByOne(1, async () => {
        const answer = await target.send("GET", path);
        if (answer.status !== 200 || !answer.body.includes(holds))
          throw new Error(`${path} answered ${answer.status}`);
      });
      if (round >= warmUp && took !== undefined) samples.push(took);
    }
  for (const clients of [panel, api, onBehalf, operator]) clients.close();
  await owner.end();
  const [ours, floor] = [percentile(page, 0.95), percentile(list, 0.95)];
  return {
    what: `the panel's page of 50 of ${servers.toLocaleString("en")} servers`,
    ours: `p95 ${ours.toFixed(1)} ms`,
    floor: `p95 ${floor.toFixed(1)} ms of the API's list`,
    ratio: (ours / floor).toFixed(2),
    aim: `≤ ${aimMilliseconds} ms more`,
    reached: ours - floor <= aimMilliseconds,
  };
}

/** The panel as it ships, and where it listens. */
async function startConsole(installation: Installation): Promise<string> {
  const [main = ""] = await bundleApps(["apps/console"]);
  const port = await findFreePort();
  const url = `http://127.0.0.1:${port}`;
  const panel = await installation.run([main], {
    KULE_API_URL: installation.api.url,
    KULE_CONSOLE_PORT: String(port),
    KULE_CONSOLE_SECRET: "a-secret-of-the-bench-which-is-long-enough",
  });
  for (;;) {
    const answer = await fetch(`${url}/healthz`).catch(() => null);
    if (answer?.ok) return url;
    if (panel.exitCode !== null) throw new Error("the panel ended");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
