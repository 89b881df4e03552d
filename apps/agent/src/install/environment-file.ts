/** An EnvironmentFile as systemd reads it, but for values over several lines. */
export function environmentOf(text: string): Record<string, string> {
  const lines = text.split("\n").flatMap((line) => {
    const [, name, value = ""] = /^\s*([A-Za-z_]\w*)=(.*)$/.exec(line) ?? [];
    return name === undefined ? [] : [[name, value.trim().replace(/^(["'])(.*)\1$/, "$2")] as const];
  });
  return Object.fromEntries(lines);
}
