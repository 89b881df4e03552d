import { type FakeApi, startFakeApi } from "./fake-api.ts";
import { type PanelOptions, startTestPanel, type TestPanel } from "./test-panel.ts";

/** A console in this process before a stand-in for the API. */
export type ConsoleWorld = TestPanel & { readonly api: FakeApi };

/** Tests that are not moved to the real API (panel-world.ts) yet use this. */
export async function startConsoleWorld(options: PanelOptions = {}): Promise<ConsoleWorld> {
  const api = await startFakeApi();
  const panel = await startTestPanel(api.url, options);
  return {
    ...panel,
    api,
    async stop() {
      await panel.stop();
      await api.stop();
    },
  };
}
