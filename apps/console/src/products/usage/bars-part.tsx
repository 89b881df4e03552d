/** A day with its name and what was used in it, as a number and in words. */
type Day = { readonly name: string; readonly said: string; readonly value: number };

/**
 * One bar for each day, its height proportional to the highest, with the value of the highest and the first and last
 * day. The value of each bar is in its title, and in the table of the days.
 */
export function DayBars(props: {
  readonly label: string;
  /** The sum of all days, in words. */
  readonly total: string;
  readonly days: readonly Day[];
}) {
  const { label, total, days } = props;
  const top = days.reduce<Day | null>((most, day) => (day.value > (most?.value ?? 0) ? day : most), null);
  return (
    <figure>
      <figcaption>
        <span>{label}</span>
        <strong class="figures">{total}</strong>
      </figcaption>
      <span class="day-top figures" aria-hidden="true">
        {top?.said ?? ""}
      </span>
      <svg
        class="day-bars"
        viewBox={`0 0 ${days.length * 10} 60`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`${label}: ${total}`}
      >
        {days.map(({ name, said, value }, index) => {
          const height = value === 0 || top === null ? 0 : Math.max(1, (value / top.value) * 59);
          return (
            <g>
              <title>{`${name}: ${said}`}</title>
              <rect class="day-floor" x={index * 10 + 1} y={59} width={8} height={1} />
              <rect class="day-bar" x={index * 10 + 1} y={60 - height} width={8} height={height} />
            </g>
          );
        })}
      </svg>
      <div class="day-axis figures" aria-hidden="true">
        {[days[0], days.at(-1)].map((day) => (
          <span>{day?.name}</span>
        ))}
      </div>
    </figure>
  );
}

/** One line for each entry, its length proportional to the longest, with its name and value as text. */
export function ShareBars(props: {
  readonly label: string;
  readonly shares: readonly { readonly name: string; readonly value: number; readonly said: string }[];
}) {
  const longest = props.shares.reduce((most, { value }) => Math.max(most, value), 1e-9);
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

/** The used share of a quota; without a limit the bar is not filled. */
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
