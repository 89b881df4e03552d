import { notAllowed } from "../../layout/action-button.tsx";
import type { OverviewProps } from "./props.ts";

/** The listeners that answer with it. */
export function Uses({ view, certificate, balancers }: OverviewProps) {
  const text = view.messages.certificates;
  const { used_by } = certificate;
  // The page of a listener is its form.
  const mayChange = notAllowed(view, "load_balancer:write") === null;
  return (
    <section class="panel" id="used-by" aria-labelledby="used-by-title">
      <div class="panel-head">
        <h2 id="used-by-title">{text.usedBy}</h2>
      </div>
      {used_by.length === 0 ? (
        <p class="hint">{text.unused}</p>
      ) : (
        <ul class="values">
          {used_by.map(({ load_balancer_id, listener_id }) => {
            const page = `/load-balancers/${load_balancer_id}`;
            return (
              <li>
                <a href={page}>
                  {balancers.find(({ id }) => id === load_balancer_id)?.name ?? load_balancer_id}
                </a>{" "}
                · {text.listener}{" "}
                {mayChange ? (
                  <a class="mono anywhere" href={`${page}/listeners/${listener_id}`}>
                    {listener_id}
                  </a>
                ) : (
                  <span class="mono anywhere">{listener_id}</span>
                )}
              </li>
            );
          })}
        </ul>
      )}
    </section>
  );
}
