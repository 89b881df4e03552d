import { inField, type Problem } from "../domains/problem.ts";

export type NumberRule = "number_range";

/** @param unit after the numbers of the text, such as `s` */
export function numberProblems(
  value: number,
  { min, max }: { readonly min: number; readonly max: number },
  field: string,
  unit = "",
): Problem<NumberRule>[] {
  if (Number.isInteger(value) && value >= min && value <= max) return [];
  const unitText = unit === "" ? "" : ` ${unit}`;
  return [
    inField(field, {
      rule: "number_range",
      message: `${value}${unitText} is not possible here`,
      fix: `Enter a whole number from ${min} to ${max}${unitText}`,
    }),
  ];
}

export const portProblems = (port: number, field: string): Problem<NumberRule>[] =>
  numberProblems(port, { min: 1, max: 65_535 }, field);
