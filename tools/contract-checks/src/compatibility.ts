type Node = { readonly [key: string]: unknown };

/**
 * Changes in `next` that break a client written for `released`: removed operations, parameters, answers,
 * fields and enum values, fields of another type, and requests that require more than before.
 *
 * Both are OpenAPI documents as parsed. Returns one sentence per finding; none means compatible.
 */
export function incompatibilities(released: Node, next: Node): string[] {
  const findings: string[] = [];
  for (const [path, item] of entries(released.paths)) {
    for (const method of ["get", "post", "put", "patch", "delete"]) {
      const before = node(item)[method];
      if (before === undefined) continue;
      const where = `${method.toUpperCase()} ${path}`;
      const after = node(node(node(next.paths)[path])[method]);
      if (node(node(next.paths)[path])[method] === undefined) findings.push(`${where} was removed`);
      else
        findings.push(
          ...compareOperation(
            where,
            released,
            node(before),
            next,
            after,
            node(item),
            node(node(next.paths)[path]),
          ),
        );
    }
  }
  return [...new Set(findings)];
}

function compareOperation(
  where: string,
  released: Node,
  before: Node,
  next: Node,
  after: Node,
  beforeItem: Node,
  afterItem: Node,
): string[] {
  const findings: string[] = [];
  if (before.operationId !== after.operationId)
    findings.push(`${where}: operationId ${before.operationId} became ${after.operationId}`);

  const parametersBefore = parametersOf(released, beforeItem, before);
  const parametersAfter = parametersOf(next, afterItem, after);
  for (const [name, parameter] of parametersBefore) {
    const now = parametersAfter.get(name);
    if (now === undefined) findings.push(`${where}: parameter ${name} was removed`);
    else
      findings.push(
        ...compareSchema(
          `${where} parameter ${name}`,
          "request",
          released,
          parameter.schema,
          next,
          now.schema,
        ),
      );
  }
  for (const [name, parameter] of parametersAfter)
    if (parameter.required === true && parametersBefore.get(name)?.required !== true)
      findings.push(`${where}: parameter ${name} became required`);

  const bodyBefore = jsonSchema(before.requestBody);
  const bodyAfter = jsonSchema(after.requestBody);
  if (bodyBefore !== undefined && bodyAfter !== undefined)
    findings.push(...compareSchema(`${where} body`, "request", released, bodyBefore, next, bodyAfter));
  if (node(after.requestBody).required === true && node(before.requestBody).required !== true)
    findings.push(`${where}: a body became required`);

  for (const [status, response] of entries(before.responses)) {
    const now = node(after.responses)[status];
    if (now === undefined) {
      findings.push(`${where}: answer ${status} was removed`);
      continue;
    }
    const schemaBefore = jsonSchema(follow(released, response));
    const schemaAfter = jsonSchema(follow(next, now));
    if (schemaBefore !== undefined)
      findings.push(
        ...compareSchema(`${where} ${status}`, "response", released, schemaBefore, next, schemaAfter ?? {}),
      );
  }
  return findings;
}

/** In a response nothing may be removed; in a request nothing new may be required. */
function compareSchema(
  where: string,
  direction: "request" | "response",
  released: Node,
  beforeRaw: unknown,
  next: Node,
  afterRaw: unknown,
  seen: ReadonlySet<string> = new Set(),
): string[] {
  const reference = node(beforeRaw).$ref;
  if (typeof reference === "string" && seen.has(reference)) return [];
  const deeper = typeof reference === "string" ? new Set([...seen, reference]) : seen;
  const before = follow(released, beforeRaw);
  const after = follow(next, afterRaw);
  const findings: string[] = [];
  if (before === after) return findings;

  const typesBefore = list(before.type);
  const typesAfter = list(after.type);
  const missingTypes = typesBefore.filter((type) => !typesAfter.includes(type));
  const addedTypes = typesAfter.filter((type) => !typesBefore.includes(type));
  if (direction === "request" && missingTypes.length > 0)
    findings.push(`${where}: type ${missingTypes} is no longer taken`);
  if (direction === "response" && typesBefore.length > 0 && addedTypes.length > 0)
    findings.push(`${where}: type ${addedTypes} can now appear`);
  if (direction === "response" && missingTypes.length > 0 && typesAfter.length === 0)
    findings.push(`${where}: type ${missingTypes} was removed`);

  for (const value of list(before.enum))
    if (after.enum !== undefined && !list(after.enum).includes(value))
      findings.push(`${where}: value ${String(value)} was removed`);
  if (direction === "request" && before.enum === undefined && after.enum !== undefined)
    findings.push(`${where}: only some values are taken now`);

  const propertiesAfter = node(after.properties);
  for (const [name, property] of entries(before.properties)) {
    if (propertiesAfter[name] === undefined) findings.push(`${where}: field ${name} was removed`);
    else
      findings.push(
        ...compareSchema(
          `${where}.${name}`,
          direction,
          released,
          property,
          next,
          propertiesAfter[name],
          deeper,
        ),
      );
  }
  const [mustStay, mustNotCome] =
    direction === "response" ? [list(before.required), []] : [[], list(after.required)];
  for (const name of mustStay)
    if (!list(after.required).includes(name))
      findings.push(`${where}: field ${String(name)} is no longer always there`);
  for (const name of mustNotCome)
    if (!list(before.required).includes(name))
      findings.push(`${where}: field ${String(name)} became required`);

  if (before.items !== undefined)
    findings.push(
      ...compareSchema(`${where}[]`, direction, released, before.items, next, after.items ?? {}, deeper),
    );
  for (const keyword of ["oneOf", "anyOf", "allOf"])
    list(before[keyword]).forEach((branch, index) => {
      const branchAfter = list(after[keyword])[index];
      if (branchAfter === undefined) findings.push(`${where}: a variant was removed`);
      else findings.push(...compareSchema(where, direction, released, branch, next, branchAfter, deeper));
    });

  if (direction === "request")
    for (const [keyword, tighter] of TIGHTER) {
      const [was, is] = [before[keyword], after[keyword]];
      if (is !== undefined && (was === undefined || tighter(was, is)))
        findings.push(`${where}: ${keyword} became stricter (${String(is)})`);
    }
  return findings;
}

const TIGHTER: readonly (readonly [string, (was: unknown, is: unknown) => boolean])[] = [
  ["maxLength", (was, is) => Number(is) < Number(was)],
  ["minLength", (was, is) => Number(is) > Number(was)],
  ["maximum", (was, is) => Number(is) < Number(was)],
  ["minimum", (was, is) => Number(is) > Number(was)],
  ["maxItems", (was, is) => Number(is) < Number(was)],
  ["minItems", (was, is) => Number(is) > Number(was)],
  ["pattern", (was, is) => was !== is],
];

function parametersOf(
  document: Node,
  item: Node,
  operation: Node,
): Map<string, { schema: unknown; required: unknown }> {
  const all = [...list(item.parameters), ...list(operation.parameters)].map((parameter) =>
    follow(document, parameter),
  );
  return new Map(
    all.map((p) => [`${String(p.in)} ${String(p.name)}`, { schema: p.schema, required: p.required }]),
  );
}

function follow(document: Node, value: unknown): Node {
  const reference = node(value).$ref;
  if (typeof reference !== "string") return node(value);
  let found: unknown = document;
  for (const part of reference.split("/").slice(1)) found = node(found)[part];
  return follow(document, found);
}

const jsonSchema = (holder: unknown): unknown => {
  const content = node(node(holder).content);
  return node(content["application/json"] ?? content["application/problem+json"]).schema;
};

const node = (value: unknown): Node => (typeof value === "object" && value !== null ? (value as Node) : {});
const entries = (value: unknown): [string, unknown][] => Object.entries(node(value));
const list = (value: unknown): unknown[] =>
  Array.isArray(value) ? value : value === undefined ? [] : [value];
