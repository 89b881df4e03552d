import type { Schemas } from "@kule/contract/schemas";

export type CarriedHour = {
  /** When it begins. */
  readonly hour: string;
  readonly connections: number;
  readonly requests: number;
  readonly errors: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
};

const hourMs = 3_600_000;

/** The last 24 hours in their order, those without traffic too, with the sums of all listeners. */
export function carriedByHour(
  hours: Schemas["LoadBalancerMetrics"]["hours"],
  now: Date,
  count = 24,
): readonly CarriedHour[] {
  const current = Math.floor(now.getTime() / hourMs) * hourMs;
  return Array.from({ length: count }, (_, index) => {
    const begin = current - (count - 1 - index) * hourMs;
    const ofHour = hours.filter(({ hour }) => Date.parse(hour) === begin);
    const sum = (of: (each: (typeof hours)[number]) => number) =>
      ofHour.reduce((total, each) => total + of(each), 0);
    return {
      hour: new Date(begin).toISOString(),
      connections: sum(({ connections }) => connections),
      requests: sum(({ requests }) => requests),
      errors: sum(({ errors }) => errors),
      bytesIn: sum(({ bytes_in }) => bytes_in),
      bytesOut: sum(({ bytes_out }) => bytes_out),
    };
  });
}
