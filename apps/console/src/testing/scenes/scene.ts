import { type SeededTemplate, seededTemplate } from "@kule/testing/database";
import { keepRows } from "@kule/testing/kept-rows";
import { type Callers, SceneApi } from "../scene-api.ts";

/**
 * What exists when a test begins. It is seeded once in a run, by calls of the real API; each world gets a copy of its
 * database. The facts are what tests need to know of it: identifiers by name, and secrets.
 */
export type Scene<Facts> = {
  readonly name: string;
  template(): Promise<SeededTemplate<Facts>>;
};

export type FactsOf<Of> = Of extends Scene<infer Facts> ? Facts : never;

/** A scene that has everything of another one and what `seed` adds. */
export function sceneAfter<Before extends Callers, Facts extends object>(
  name: string,
  before: Scene<Before>,
  seed: (api: SceneApi, before: Before) => Promise<Facts>,
): Scene<Before & Facts> {
  let template: Promise<SeededTemplate<Before & Facts>> | undefined;
  return {
    name,
    template() {
      template ??= seededTemplate(name, async () => {
        const start = await before.template();
        const api = await SceneApi.open(start);
        try {
          const facts = { ...start.facts, ...(await seed(api, start.facts)) };
          const database = await api.leave();
          await keepRows(database.ownerUrl);
          return { database, facts };
        } catch (error) {
          await api.close();
          throw error;
        }
      });
      return template;
    },
  };
}
