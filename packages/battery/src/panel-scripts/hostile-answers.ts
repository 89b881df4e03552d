/** The text that is written before what stands at a place of the answers, such as "GET /servers.items.name". */
export type Plant = (place: string) => string;

/** What people, guests, regions and other houses may have written, by the names that the contract has for it. */
const textKeys = new Set([
  ...["name", "email", "label", "comment", "description", "reason", "label_selector", "hostname", "os"],
  ...[
    "message",
    "region_message",
    "detail",
    "title",
    "fix",
    "user_agent",
    "source_address",
    "ptr",
    "tags",
    "node",
    "vm_name",
  ],
  ...["seen", "wanted", "agent_name", "distribution", "default_user", "created_by", "invited_by", "marker"],
  ...["check", "subject", "step", "external_ref", "scopes", "prefix", "fingerprint_sha256", "version"],
  ...["fingerprint_md5", "public_key", "request_id", "issuer", "kind_text", "group", "action", "country"],
]);

/** What an API that is newer than the panel may name otherwise: the panel then shows what else there is to say. */
const isNewName = (key: string, value: string, refuses: boolean): boolean =>
  (key === "kind" && /^[A-Z]/.test(value)) || (key === "code" && refuses);

/**
 * An answer of the API in which every text carries one more: as if no rule of names, labels or addresses stood between
 * whoever wrote it and the panel. What the panel works by, such as identifiers, states and numbers, stays.
 *
 * @param refuses whether it is the answer to something that cannot be done
 */
export function hostileAnswer(
  value: unknown,
  plant: Plant,
  place: string,
  refuses = false,
  key = "",
): unknown {
  if (typeof value === "string")
    return textKeys.has(key) || isNewName(key, value, refuses) ? `${plant(place)}${value}` : value;
  if (Array.isArray(value)) return value.map((each) => hostileAnswer(each, plant, place, refuses, key));
  if (typeof value !== "object" || value === null) return value;
  const isLabels = key === "labels";
  const isDetails = key === "details";
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => {
      const at = `${place}.${name}`;
      if (isLabels) return [`${plant(at)}${name}`, `${plant(at)}${each}`];
      if (isDetails && typeof each === "string") return [name, `${plant(at)}${each}`];
      return [name, hostileAnswer(each, plant, at, refuses, name)];
    }),
  );
}

const identifier = /\b[a-z]+_[0-9a-z]{20,}\b/g;

/** An address with a star for every identifier: what is alike is one place. */
export function kindOfPath(path: string): string {
  return path.replace(identifier, "*");
}

/** Between the panel and the API: answers as they are, or hostile ones while `plant` says so. */
export function withHostileAnswers(
  fetchApi: (request: Request) => Response | Promise<Response>,
  plant: () => Plant | null,
): (request: Request) => Promise<Response> {
  return async (request) => {
    const answer = await fetchApi(request);
    const planting = plant();
    const isJson = /^application\/(problem\+)?json\b/.test(answer.headers.get("content-type") ?? "");
    if (planting === null || !isJson) return answer;
    const place = `${request.method} ${kindOfPath(new URL(request.url).pathname.replace(/^\/api\/v\d+/, ""))}`;
    const body = JSON.stringify(hostileAnswer(await answer.json(), planting, place, answer.status === 409));
    const headers = new Headers(answer.headers);
    headers.delete("content-length");
    return new Response(body, { status: answer.status, headers });
  };
}
