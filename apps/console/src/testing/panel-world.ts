import type { Settings } from "@kule/api/platform/settings";
import { afterAll } from "vitest";
import { openSession } from "../session.ts";
import { openApiPort, type RecordedApi } from "./recorded-api.ts";
import { SceneApi } from "./scene-api.ts";
import type { People, Who } from "./scenes/people.ts";
import type { Scene } from "./scenes/scene.ts";
import { type PanelOptions, startTestPanel, type TestPanel } from "./test-panel.ts";
import { Visitor } from "./visitor.ts";

/** The panel in this process before the real API, which runs over a database of its own: a copy of the scene. */
export type PanelWorld<Facts extends People> = TestPanel & {
  /** What the panel has asked, and how to make the API answer with 503 or 409. */
  readonly api: RecordedApi;
  /** The real API, for what tests change and read without the panel. */
  readonly real: SceneApi;
  readonly facts: Facts;
  /** A browser in which the person has signed in, without the sign-in page. */
  signedIn(who: Who, headers?: Readonly<Record<string, string>>): Promise<Visitor>;
  /**
   * @throws Error when an answer of the API did not fit the contract, or the API failed in another way
   */
  stop(): Promise<void>;
};

/** APIs between two worlds, by their scene. */
const idle = new Map<string, SceneApi[]>();

afterAll(async () => {
  for (const apis of idle.values()) for (const api of apis.splice(0)) await api.close();
});

/** The API of a world that has stopped, with everything as the scene has it again; otherwise another one. */
async function takeApi(scene: Scene<People>, settings: Partial<Settings> | undefined): Promise<SceneApi> {
  const used = settings === undefined ? idle.get(scene.name)?.pop() : undefined;
  if (used === undefined) return SceneApi.open(await scene.template(), settings);
  await used.restore();
  return used;
}

/** @param options.settings of the API, such as its mail file; such an API is used for this world alone */
export async function startPanelWorld<Facts extends People>(
  scene: Scene<Facts>,
  options: PanelOptions & { readonly settings?: Partial<Settings> } = {},
): Promise<PanelWorld<Facts>> {
  const { facts } = await scene.template();
  const real = await takeApi(scene, options.settings);
  const port = await openApiPort((request, env) => real.app.fetch(request, env as object));
  const panel = await startTestPanel(port.api.url, options);
  real.standAt({ publicUrl: port.api.url, consoleOrigins: [panel.publicUrl] });
  return {
    ...panel,
    api: port.api,
    real,
    facts,
    async signedIn(who, headers = {}) {
      const { session, me } = facts.people[who];
      const opened = openSession(session, me);
      const visitor = new Visitor(panel, headers);
      const sealed = await panel.sealer.seal("session", opened, new Date(session.expires_at));
      visitor.cookies.set("kule_session", sealed);
      return visitor;
    },
    async stop() {
      await panel.stop();
      await port.stop();
      const { defects } = real;
      if (options.settings === undefined && defects.length === 0)
        idle.set(scene.name, [...(idle.get(scene.name) ?? []), real]);
      else await real.close();
      if (defects.length > 0) throw new Error(defects.join("\n"));
    },
  };
}
