import { openapi } from "@kule/contract/generated/openapi";
import { responseDefect } from "@kule/contract/validate-response";
import { expect, test } from "vitest";

type Schema = {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly allOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
};
type Operation = {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: Schema }>> }>
  >;
};

const paths = openapi.paths as Readonly<Record<string, Readonly<Record<string, Operation>>>>;
const { schemas } = openapi.components as { schemas: Readonly<Record<string, Schema>> };
const resolved = (schema: Schema): Schema =>
  schema.$ref === undefined ? schema : (schemas[schema.$ref.split("/").at(-1) ?? ""] ?? schema);

/** The schemas of the member `job`, part by part; none when there is no such member. */
function jobsIn(schema: Schema): Schema[] {
  const { allOf, properties } = resolved(schema);
  const own = properties?.job === undefined ? [] : [properties.job];
  return [...own, ...(allOf ?? []).flatMap(jobsIn)];
}

/** Agents are handed jobs; they write none. */
const changing = Object.values(paths).flatMap((path) =>
  ["post", "put", "patch", "delete"].flatMap((method) => {
    const operation = path[method];
    return operation === undefined || operation.tags.includes("agent") ? [] : [operation];
  }),
);
const answers = changing.flatMap(({ operationId, responses }) =>
  Object.entries(responses).flatMap(([status, { content }]) => {
    const schema = content?.["application/json"]?.schema;
    const jobs = schema === undefined || !status.startsWith("2") ? [] : jobsIn(schema);
    return jobs.length === 0 ? [] : [{ operationId, status, jobs }];
  }),
);

test("many operations answer with a job", () => {
  expect(answers.filter(({ status }) => status === "202").length).toBeGreaterThan(20);
});

test.each(answers.filter(({ status }) => status !== "202"))(
  "$operationId answers $status only when it has queued nothing",
  ({ jobs }) => {
    expect(jobs).toContainEqual({ type: "null" });
  },
);

test("a test build refuses a 201 with a job", () => {
  const defect = responseDefect("createNetwork", 201, { network: {}, job: {} });
  expect(defect).toMatch(/job.*null/);
});
