// Generated from docs/api/openapi.yaml by packages/contract/scripts/generate.ts. Do not edit.
export type ValidatorError = {
  readonly instancePath: string;
  readonly keyword: string;
  readonly params: { readonly [name: string]: unknown };
  readonly message?: string;
  readonly schemaPath: string;
  readonly propertyName?: string;
};
export type Validator = ((data: unknown) => boolean) & { errors?: readonly ValidatorError[] | null };
export const jobPayload: Validator;
