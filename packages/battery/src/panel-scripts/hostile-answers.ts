import type { Plants } from "./payloads.ts";

/** What people, guests, regions and other houses may have written, by the names that the contract has for it. */
const textKeys = new Set([
  ...["name", "email", "label", "comment", "description", "reason", "label_selector", "hostname", "os"],
  ...["message", "detail", "title", "fix", "user_agent", "source_address", "ptr", "tags", "node", "vm_name"],
  ...["seen", "wanted", "agent_name", "distribution", "default_user", "created_by", "invited_by", "marker"],
  ...["check", "subject", "step", "external_ref", "scopes", "prefix", "fingerprint_sha256", "version"],
  ...["fingerprint_md5", "public_key", "request_id", "issuer", "kind_text", "group", "action", "country"],
]);

/**
 * An answer of the API in which every text carries one more: as if no rule of names, labels or addresses stood between
 * whoever wrote it and the panel. What the panel works by, such as identifiers, states and numbers, stays.
 */
export function hostileAnswer(value: unknown, plants: Plants, place: string, key = ""): unknown {
  if (typeof value === "string") return textKeys.has(key) ? `${plants.text(place)}${value}` : value;
  if (Array.isArray(value)) return value.map((each) => hostileAnswer(each, plants, place, key));
  if (typeof value !== "object" || value === null) return value;
  const isLabels = key === "labels";
  const isDetails = key === "details";
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => {
      const at = `${place}.${name}`;
      if (isLabels) return [`${plants.text(at)}${name}`, `${plants.text(at)}${each}`];
      if (isDetails && typeof each === "string") return [name, `${plants.text(at)}${each}`];
      return [name, hostileAnswer(each, plants, at, name)];
    }),
  );
}

const identifier = /\b[a-z]+_[0-9a-z]{20,}\b/g;

/** An address with a star for every identifier: what is alike is one place. */
export function kindOfPath(path: string): string {
  return path.replace(identifier, "*");
}

/** Between the panel and the API: answers as they are, or hostile ones while `plants` says so. */
export function withHostileAnswers(
  fetchApi: (request: Request) => Response | Promise<Response>,
  plants: () => Plants | null,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const answer = await fetchApi(request);
    const planting = plants();
    const isJson = /^application\/(problem\+)?json\b/.test(answer.headers.get("content-type") ?? "");
    if (planting === null || !isJson) return answer;
    const place = `${request.method} ${kindOfPath(new URL(request.url).pathname.replace(/^\/api\/v\d+/, ""))}`;
    const body = JSON.stringify(hostileAnswer(await answer.json(), planting, place));
    const headers = new Headers(answer.headers);
    headers.delete("content-length");
    return new Response(body, { status: answer.status, headers });
  };
}
