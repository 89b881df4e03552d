/**
 * A call to the API as a command for a POSIX shell. The token stays a variable, so that the command can be shown,
 * copied and shared.
 *
 * @param body sent as JSON
 */
export function apiCall(call: {
  readonly apiUrl: string;
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  readonly body?: unknown;
}): string {
  const words = ["curl -s"];
  if (call.method !== "GET" && !(call.method === "POST" && call.body !== undefined))
    words.push(`-X ${call.method}`);
  words.push(shellQuoted(call.apiUrl + call.path), '-H "Authorization: Bearer $TOKEN"');
  if (call.body === undefined) return words.join(" ");
  words.push(`-H ${shellQuoted("Content-Type: application/json")}`);
  return `${words.join(" ")} \\\n  -d ${shellQuoted(JSON.stringify(call.body))}`;
}

function shellQuoted(text: string): string {
  return /^[\w:/.?=&%-]+$/.test(text) && !/[?&]/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
