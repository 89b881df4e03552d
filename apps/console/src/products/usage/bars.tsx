/** One bar for each day, as high as its share of the highest; the table beside it says the same in words. */
export function DayBars(props: {
  readonly label: string;
  readonly days: readonly { readonly day: string; readonly title: string; readonly value: number }[];
}) {
  const highest = Math.max(...props.days.map(({ value }) => value), 1e-9);
  return (
    <svg class="day-bars" viewBox={`0 0 ${props.days.length * 10} 60`} preserveAspectRatio="none" role="img">
      <title>{props.label}</title>
      {props.days.map(({ day, title, value }, index) => {
        const height = value === 0 ? 0 : Math.max(1, (value / highest) * 58);
        return (
          <g>
            <title>{title}</title>
            <rect class="day-floor" x={index * 10 + 1} y={59} width={8} height={1} data-day={day} />
            <rect class="day-bar" x={index * 10 + 1} y={60 - height} width={8} height={height} />
          </g>
        );
      })}
    </svg>
  );
}

/** One line for each, as long as its share of the longest, with its name and figure in words. */
export function ShareBars(props: {
  readonly label: string;
  readonly shares: readonly { readonly name: string; readonly value: number; readonly said: string }[];
}) {
  const longest = Math.max(...props.shares.map(({ value }) => value), 1e-9);
  return (
    <ul class="share-bars" aria-label={props.label}>
      {props.shares.map(({ name, value, said }) => (
        <li>
          <span>{name}</span>
          <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
            <rect class="day-floor" x={0} y={0} width={100} height={8} rx={1} />
            <rect
              class="day-bar"
              x={0}
              y={0}
              width={Math.max(0.5, (value / longest) * 100)}
              height={8}
              rx={1}
            />
          </svg>
          <span class="figures">{said}</span>
        </li>
      ))}
    </ul>
  );
}

/** How much of something is taken; without a limit there is nothing to fill. */
export function FillBar(props: {
  readonly label: string;
  readonly used: number;
  readonly limit: number | null;
}) {
  if (props.limit === null) return null;
  const share = props.limit === 0 ? 1 : Math.min(1, props.used / props.limit);
  return (
    <progress
      class="fill"
      aria-label={props.label}
      max={100}
      value={Math.round(share * 100)}
      data-full={props.used >= props.limit ? "" : undefined}
    />
  );
}
