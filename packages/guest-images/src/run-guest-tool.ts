import { ImageBuildFailed, runTool } from "./run-tool.ts";

/**
 * Runs one of libguestfs' programs, which start a small system of their own under QEMU: with KVM, and once more without it where
 * that does not start. There are machines whose /dev/kvm is there and does not work.
 *
 * @throws ImageBuildFailed
 */
export async function runGuestTool(
  program: string,
  words: readonly string[],
  how: Parameters<typeof runTool>[2],
): Promise<void> {
  try {
    await runTool(program, words, how);
  } catch (error) {
    if (!(error instanceof ImageBuildFailed && error.message.includes("guestfs_launch failed"))) throw error;
    how.say("its system does not start with KVM here: once more without it, which takes longer");
    const env = { ...how.env, LIBGUESTFS_BACKEND_SETTINGS: "force_tcg" };
    await runTool(program, words, { ...how, env });
  }
}
