import { validateBody } from "@kule/contract/validate";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { allOperations, bodyExample, bodySchema } from "./contract-schema.ts";
import { defectsOf, independent } from "./defects.ts";
import { validValue } from "./valid-values.ts";

const withBody = allOperations().flatMap(({ id }) => {
  const schema = bodySchema(id);
  return schema === null ? [] : [{ id, schema }];
});

describe("what is generated from the contract", () => {
  it.each(withBody)("fits it, as the body of $id", ({ id, schema }) => {
    fc.assert(
      fc.property(validValue(schema), (body) => {
        expect(validateBody(id, structuredClone(body))).toMatchObject({ ok: true });
      }),
      { numRuns: 50 },
    );
  });

  it.each(withBody)(
    "is refused at each path where a defect of $id was planted, and at no other",
    ({ id, schema }) => {
      let planted = 0;
      fc.assert(
        fc.property(validValue(schema), (body) => {
          for (const defect of defectsOf(schema, body)) {
            const broken = structuredClone(body);
            defect.plant(broken);
            const result = validateBody(id, broken);
            const pointers = new Set(result.ok ? [] : result.errors.map((error) => error.pointer));
            expect([...pointers], `${defect.name} at ${defect.pointer} in ${JSON.stringify(body)}`).toEqual([
              defect.pointer,
            ]);
            planted += 1;
          }
        }),
        { numRuns: 10 },
      );
      expect(planted).toBeGreaterThan(20);
    },
  );

  it.each(withBody)("is refused for all of several defects of $id at once", ({ id, schema }) => {
    fc.assert(
      fc.property(validValue(schema), fc.array(fc.nat(), { minLength: 6, maxLength: 6 }), (body, choices) => {
        const chosen: ReturnType<typeof defectsOf> = [];
        const candidates = defectsOf(schema, body);
        for (const choice of choices) {
          const defect = candidates[choice % candidates.length];
          if (defect !== undefined && chosen.every((other) => independent(defect, other)))
            chosen.push(defect);
        }
        const broken = structuredClone(body);
        for (const defect of chosen) defect.plant(broken);
        const result = validateBody(id, broken);
        const pointers = result.ok ? [] : result.errors.map((error) => error.pointer);
        expect(pointers).toEqual(expect.arrayContaining(chosen.map((defect) => defect.pointer)));
      }),
      { numRuns: 30 },
    );
  });

  it("covers every operation that takes a body, and the contract's own examples fit too", () => {
    expect(withBody.length).toBeGreaterThan(15);
    for (const { id } of withBody)
      expect(validateBody(id, structuredClone(bodyExample(id)) ?? {}), id).toMatchObject({ ok: true });
  });
});
