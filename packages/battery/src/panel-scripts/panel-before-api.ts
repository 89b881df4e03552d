import { ApiWorld } from "@kule/api/testing/api-world";
import { listen } from "@kule/api/testing/console-parties";
import { findFreePort } from "@kule/postgres/free-port";
import { withHostileAnswers } from "./hostile-answers.ts";
import { startPanelProcess } from "./panel-process.ts";
import type { Plants } from "./payloads.ts";

export type PanelBeforeApi = {
  readonly world: ApiWorld;
  readonly url: string;
  /** From here on the API's answers are hostile; null: as they are. */
  plantInAnswers(plants: Plants | null): void;
  end(): Promise<void>;
};

/** The panel as it ships, before an API in this process whose answers may be changed on the way. */
export async function startPanelBeforeApi(): Promise<PanelBeforeApi> {
  const world = await ApiWorld.open();
  let planting: Plants | null = null;
  const { app } = world;
  const fetchApi = withHostileAnswers(
    (request) => app.fetch(request),
    () => planting,
  );
  const served = { ...world.replica, app: { fetch: fetchApi } as unknown as typeof app };
  const api = await listen(served);
  const endApi = async () => {
    await api.close();
    await world.close();
  };
  const port = await findFreePort();
  try {
    const panel = await startPanelProcess(api.origin, port);
    return {
      world,
      url: `http://127.0.0.1:${port}`,
      plantInAnswers(plants) {
        planting = plants;
      },
      async end() {
        await panel.end("SIGKILL");
        await endApi();
      },
    };
  } catch (error) {
    await endApi();
    throw error;
  }
}
