// Generated from packages/region-config/schema by scripts/generate.ts. Do not edit.
import type { ErrorObject } from "ajv";

export const validate: ((document: unknown) => boolean) & { errors?: readonly ErrorObject[] | null };
