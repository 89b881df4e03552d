// What installing consists of, as data: it is printed, compared in tests, and carried out.

import {
  chmodSync,
  closeSync,
  copyFileSync,
  fsyncSync,
  mkdirSync,
  openSync,
  renameSync,
  rmdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";

export type Action =
  | { readonly do: "make folder"; readonly path: string }
  | { readonly do: "write"; readonly path: string; readonly text: string; readonly mode: number }
  | { readonly do: "copy"; readonly path: string; readonly from: string; readonly mode: number }
  | { readonly do: "set mode"; readonly path: string; readonly mode: number }
  | { readonly do: "link"; readonly path: string; readonly to: string }
  | { readonly do: "remove"; readonly path: string }
  /** An empty one. */
  | { readonly do: "remove folder"; readonly path: string }
  | { readonly do: "run"; readonly words: readonly [string, ...string[]] };

/** For people; never a file's content. */
export function describe(action: Action): string {
  switch (action.do) {
    case "run":
      return `run ${action.words.join(" ")}`;
    case "link":
      return `link ${action.path} to ${action.to}`;
    case "copy":
      return `copy ${action.from} to ${action.path}, mode ${octal(action.mode)}`;
    case "write":
    case "set mode":
      return `${action.do} ${action.path}, mode ${octal(action.mode)}`;
    default:
      return `${action.do} ${action.path}`;
  }
}

const octal = (mode: number): string => mode.toString(8).padStart(4, "0");

/**
 * Carries it out below the root. A file takes its place by a rename: what runs keeps what it has opened, and nobody sees half
 * of one, nor a secret's file with other rights than its own.
 */
export function carryOut(action: Action, root: string, run: (words: readonly string[]) => void): void {
  if (action.do === "run") run(action.words);
  else changeFile(action, root);
}

function changeFile(action: Exclude<Action, { do: "run" }>, root: string): void {
  const path = join(root, action.path);
  const draft = `${path}.${process.pid}.new`;
  switch (action.do) {
    case "make folder":
      mkdirSync(path, { recursive: true });
      chmodSync(path, 0o755);
      return;
    case "write":
      rmSync(draft, { force: true });
      writeFileSync(draft, action.text, { flag: "wx", mode: 0o600 });
      chmodSync(draft, action.mode);
      renameSync(draft, path);
      return;
    case "copy":
      rmSync(draft, { force: true });
      copyFileSync(action.from, draft);
      chmodSync(draft, action.mode);
      syncFile(draft);
      renameSync(draft, path);
      return;
    case "set mode":
      chmodSync(path, action.mode);
      return;
    case "link":
      rmSync(draft, { force: true });
      symlinkSync(action.to, draft);
      renameSync(draft, path);
      return;
    case "remove":
      rmSync(path, { recursive: true, force: true });
      return;
    case "remove folder":
      rmdirSync(path);
  }
}

/** A link may lead to it from now on, after a loss of power too. */
function syncFile(path: string): void {
  const file = openSync(path, "r");
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
