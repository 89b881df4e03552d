import { join, resolve } from "node:path";
import { bundleApps } from "@kule/build/bundle-apps";
import { startProcess, type TestProcess, untilReady } from "@kule/testing/child-process";

const root = resolve(import.meta.dirname, "../../../..");

/** The panel as it ships, before an API that is served somewhere; the port is one that is free. */
export async function startPanelProcess(apiOrigin: string, port: number): Promise<TestProcess> {
  const [bundle = ""] = await bundleApps(["apps/console"]);
  const panel = startProcess("panel", [join(root, bundle)], {
    KULE_API_URL: `${apiOrigin}/api/v1`,
    KULE_CONSOLE_PORT: String(port),
    KULE_CONSOLE_SECRET: "a-secret-of-the-tests-which-is-long-enough",
  });
  try {
    await untilReady(panel, async () =>
      (await fetch(`http://127.0.0.1:${port}/healthz`)).ok ? true : undefined,
    );
    return panel;
  } catch (error) {
    await panel.end("SIGKILL");
    throw error;
  }
}
