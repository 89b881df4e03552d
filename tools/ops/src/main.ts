import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { argv, env, stderr, stdin, stdout } from "node:process";
import { text } from "node:stream/consumers";
import { UsageError } from "./command.ts";
import { runOps } from "./run-ops.ts";

process.exitCode = await runOps(argv.slice(2), {
  environment: env,
  readStdin: () => text(stdin),
  out: (written) => stdout.write(written),
  err: (written) => stderr.write(written),
  files: {
    write(path, content) {
      try {
        // npm runs scripts in the root of the tree; the path is as in the directory where it was typed.
        writeFileSync(resolve(env.INIT_CWD ?? ".", path), content, { mode: 0o600, flag: "wx" });
      } catch (error) {
        throw new UsageError(`${path} cannot be written: ${error instanceof Error ? error.message : error}`);
      }
    },
  },
});
