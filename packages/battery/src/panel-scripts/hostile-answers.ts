/** The text that is written before the value at a path of the answers, such as "GET /servers.items.name". */
export type Plant = (place: string) => string;

/** Texts from people, guests, regions and other systems, by their names in the contract. */
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

/** Names that an API newer than the panel may use: the panel then shows the rest of the entry. */
const isNewName = (key: string, value: string, refuses: boolean): boolean =>
  (key === "kind" && /^[A-Z]/.test(value)) || (key === "code" && refuses);

/**
 * An answer of the API with a hostile text in every text: as if no rule for names, labels or addresses
 * protected the panel from their authors. Values that the panel works with, such as identifiers, states and
 * numbers, stay.
 *
 * @param refuses whether it answers a request that is refused
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

/** A proxy between the panel and the API: answers pass unchanged, or hostile while `plant` says so. */
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
