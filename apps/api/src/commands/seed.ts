import { BadSettings } from "../platform/settings.ts";

export async function seedCommand(
  _environment: Readonly<Record<string, string | undefined>>,
  _options: readonly string[],
): Promise<void> {
  throw new BadSettings("seed is not there yet");
}
