import { existsSync } from "node:fs";
import { join } from "node:path";

/** The processes of the control plane. Each gets the settings that it reads, and no others. */
export type Program = "api" | "worker" | "console" | "migrate" | "seed" | "restored" | "doctor";

type Start = { readonly app: "api" | "console"; readonly args: readonly string[] };

const starts: Readonly<Record<Program, Start>> = {
  api: { app: "api", args: ["serve"] },
  worker: { app: "api", args: ["worker"] },
  migrate: { app: "api", args: ["migrate"] },
  seed: { app: "api", args: ["seed"] },
  restored: { app: "api", args: ["restored"] },
  doctor: { app: "api", args: ["doctor"] },
  console: { app: "console", args: [] },
};

export const isProgram = (word: string): word is Program => Object.hasOwn(starts, word);

/** The file of a program and its arguments. The apps' own mains are what runs. */
export function startOf(
  program: Program,
  options: readonly string[],
): { readonly file: string; readonly args: readonly string[] } {
  const { app, args } = starts[program];
  return { file: fileOf(app), args: [...args, ...options] };
}

/** Beside this folder in a release; in the tree, the app's bundle. */
function fileOf(app: Start["app"]): string {
  const here = import.meta.dirname;
  const places = [join(here, `../${app}/main.js`), join(here, `../../${app}/dist/main.js`)];
  const found = places.find((place) => existsSync(place));
  if (found === undefined) throw new Error(`this installation is incomplete: there is no ${places[0]}`);
  return found;
}
