import { spawn } from "node:child_process";

/** The lock of a file, held by a process of ours: any end of this one releases it. */
export async function lockImage(file: string, waiting: () => void): Promise<() => Promise<void>> {
  const child = spawn("flock", ["--exclusive", file, "sh", "-c", "echo locked; exec cat"], {
    stdio: ["pipe", "pipe", "ignore"],
  });
  const timer = setTimeout(waiting, 500);
  child.stdin.on("error", () => {});
  const ended = new Promise<void>((resolve) => child.once("close", () => resolve()));
  try {
    await new Promise<void>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", () => reject(new Error(`flock ${file} ended at once`)));
      child.stdout.once("data", () => resolve());
    });
  } finally {
    clearTimeout(timer);
  }
  return async () => {
    child.stdin.end();
    await ended;
  };
}
