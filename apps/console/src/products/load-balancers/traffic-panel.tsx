import type { View } from "../../layout/view.ts";
import { DayBars } from "../usage/bars-part.tsx";
import type { OverviewProps } from "./props.ts";
import { carriedByHour } from "./traffic-hours.ts";

/** What its listeners have carried in the last 24 hours, by the hour. */
export function Traffic({ view, listeners, metrics }: OverviewProps) {
  const text = view.messages.loadBalancers.traffic;
  const { format } = view;
  const hours = carriedByHour(metrics.hours, view.now);
  const sum = (of: (hour: (typeof hours)[number]) => number) =>
    hours.reduce((total, hour) => total + of(hour), 0);
  const hasHttp = listeners.some(({ protocol }) => protocol === "http" || protocol === "https");
  return (
    <section class="panel" id="traffic" aria-labelledby="traffic-title">
      <div class="panel-head">
        <h2 id="traffic-title">{text.title}</h2>
      </div>
      {metrics.hours.length === 0 ? (
        <p class="hint">{text.none}</p>
      ) : (
        <div class="usage-days">
          {hasHttp ? (
            <DayBars
              label={text.requests}
              total={format.number(sum(({ requests }) => requests))}
              days={hours.map(({ hour, requests }) => bar(view, hour, requests, format.number))}
            />
          ) : null}
          {hasHttp ? (
            <DayBars
              label={text.errors}
              total={format.number(sum(({ errors }) => errors))}
              days={hours.map(({ hour, errors }) => bar(view, hour, errors, format.number))}
            />
          ) : null}
          <DayBars
            label={text.connections}
            total={format.number(sum(({ connections }) => connections))}
            days={hours.map(({ hour, connections }) => bar(view, hour, connections, format.number))}
          />
          <DayBars
            label={text.bytesIn}
            total={format.bytes(sum(({ bytesIn }) => bytesIn))}
            days={hours.map(({ hour, bytesIn }) => bar(view, hour, bytesIn, format.bytes))}
          />
          <DayBars
            label={text.bytesOut}
            total={format.bytes(sum(({ bytesOut }) => bytesOut))}
            days={hours.map(({ hour, bytesOut }) => bar(view, hour, bytesOut, format.bytes))}
          />
        </div>
      )}
    </section>
  );
}

const bar = ({ format, now }: View, hour: string, value: number, said: (value: number) => string) => ({
  name: format.relative(hour, now),
  said: said(value),
  value,
});
