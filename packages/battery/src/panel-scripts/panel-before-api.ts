import { ApiWorld } from "@kule/api/testing/api-world";
import { listen } from "@kule/api/testing/console-parties";
import { findFreePort } from "@kule/postgres/free-port";
import { type Plant, withHostileAnswers } from "./hostile-answers.ts";
import { startPanelProcess } from "./panel-process.ts";

export type PanelBeforeApi = {
  readonly world: ApiWorld;
  readonly url: string;
  /** From here on the API's answers are hostile; null: as they are. */
  plantInAnswers(plant: Plant | null): void;
  end(): Promise<void>;
};

/** The panel as it ships, before an API in this process whose answers may be changed on the way. */
export async function startPanelBeforeApi(): Promise<PanelBeforeApi> {
  const world = await ApiWorld.open();
  let planting: Plant | null = null;
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
      plantInAnswers(plant) {
        planting = plant;
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
